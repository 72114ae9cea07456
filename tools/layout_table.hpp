// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// The chunks of a container as a table that fits on a screen or a page: tasks that are too many
/// share a row, blocks that are too many a column.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/offline/survey.hpp"

namespace bento::tools {

/// Bytes of the chunks that one cell stands for.
struct LayoutCell {
  std::uint64_t space = 0;  ///< that the chunks may take
  std::uint64_t live = 0;
  std::uint64_t older = 0;
  std::uint64_t dead = 0;
  std::uint64_t catalogue = 0;

  void add(const LayoutCell& other);
  [[nodiscard]] std::uint64_t used() const { return live + older + dead + catalogue; }
};

struct LayoutRow {
  std::string label;  ///< "task 3", "tasks 0-311", "catalogue"
  std::vector<LayoutCell> cells;

  [[nodiscard]] LayoutCell sum() const;
};

struct LayoutTable {
  std::string path;               ///< of the physical file
  std::uint64_t chunk_bytes = 0;  ///< of each task
  std::uint64_t tasks = 0;        ///< the catalogue included
  std::uint64_t blocks = 0;
  std::uint64_t blocks_per_cell = 1;
  std::vector<LayoutRow> rows;
};

/// One physical file, with at most so many rows (of tasks) and cells per row.
LayoutTable layout_table(const Survey& survey, const SpaceUse& use, std::uint32_t file,
                         std::size_t most_rows, std::size_t most_cells);

/// How many of `width` places live, older, dead and catalogue bytes take, in this order: in
/// proportion, but none that there is gets nothing as long as there is a place.
struct CellParts {
  std::size_t live = 0;
  std::size_t older = 0;
  std::size_t dead = 0;
  std::size_t catalogue = 0;
};
CellParts cell_parts(const LayoutCell& cell, std::size_t width);

/// The tables as an SVG picture, with a legend: for papers, so without fonts or colours that a
/// printer lacks. `title` is put above.
std::string layout_svg(const std::string& title, const std::vector<LayoutTable>& tables);

}  // namespace bento::tools
