// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Elements of a dataset with filters to records and back. A write is cut along the chunk grid;
/// each piece is one record, compressed in its own shape by the rank that writes. Task-local.
/// Source: docs/format.md, "Filtered records".
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/error.hpp"
#include "vol/file/dataset_state.hpp"

namespace bento::vol {

/// A piece that covers its chunk, as far as the extent reaches, is filtered from this size on. A
/// record costs a header of 72 bytes and an index entry; below this filters gain too little.
inline constexpr std::uint64_t kFilteredChunkBytes = 1024;
/// Any other piece is filtered from this size on. Smaller ones stay plain: plain pieces that
/// continue each other become one record, and a program that writes row by row through wide chunks
/// would otherwise leave thousands of tiny compressed ones.
inline constexpr std::uint64_t kFilteredPartBytes = 16u << 10;

/// Does the dataset have filters, and is the box large enough for them?
Result<bool> is_filtered(Object* object, DatasetState& state, const Box& box);

/// Writes one box, row-major in the file type, through the dataset's filters; false, and nothing
/// written, if it has none or the box is too small for them. `written` as for Container::write.
/// Errors: those of Container::write, and kInvalidArgument for a filter that fails or is not
/// available.
Result<bool> write_filtered(Object* object, DatasetState& state, const Box& box,
                            const std::byte* data, const WrittenMembers* written);

/// Copies the elements of `part`, which lies in both boxes, from a filtered record to the row-major
/// buffer of `to_box`. Errors: those of Container::read, and kCorrupt for bytes that do not pass
/// the filters.
Status read_filtered(Object* object, DatasetState& state, const Record& record, const Box& part,
                     const Box& to_box, std::byte* to);

}  // namespace bento::vol
