// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Tables with chunks of a column or a few, as programs make them that read single columns. As one
/// record a column of such a table would lie in as many pieces as it has rows, and to read it would
/// take all of the table. So a write of all of it makes records of some columns each. Task-local.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "core/base/error.hpp"
#include "core/bytes/byte_source.hpp"
#include "core/geometry/box.hpp"
#include "vol/file/dataset_state.hpp"

namespace bento::vol {

/// How the records of such a write lie: `rows` rows and `columns` columns each, the last ones less.
struct TableCut {
  std::uint64_t rows = 0;
  std::uint64_t columns = 0;
};

/// Nothing where one record is right: `extent` is no table, its chunks are not narrow, or its
/// columns are too short to be worth records of their own.
std::optional<TableCut> cut_of_table(const Dims& extent, const Dims& chunk,
                                     std::uint64_t element_bytes);

/// The same for a write of `box`, of a dataset without filters.
Result<std::optional<TableCut>> cut_of_write(Object* object, DatasetState& state, const Box& box);

/// Writes all elements of a table; `data` gives them in the file type, row by row. Errors: those of
/// Container::write, and of `data`.
Status write_table(DatasetState& state, const Box& box, const TableCut& cut, ByteSource& data,
                   const WrittenMembers* written);

}  // namespace bento::vol
