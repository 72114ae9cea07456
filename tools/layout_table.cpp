// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "tools/layout_table.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace bento::tools {

void LayoutCell::add(const LayoutCell& other) {
  space += other.space;
  live += other.live;
  older += other.older;
  dead += other.dead;
  catalogue += other.catalogue;
}

LayoutCell LayoutRow::sum() const {
  LayoutCell all;
  for (const auto& cell : cells) all.add(cell);
  return all;
}

namespace {

std::uint64_t divided_up(std::uint64_t value, std::uint64_t by) {
  return value / by + (value % by != 0 ? 1 : 0);
}

/// Used bytes of the catalogue in `count` blocks from `first` on: its chunks are filled without
/// gaps. A damaged root may claim any end.
std::uint64_t catalogue_in(const Survey& survey, std::uint32_t file, std::uint64_t first,
                           std::uint64_t count) {
  const std::uint64_t chunk = survey.plan().file(file).chunk_bytes;
  if (file != 0) return 0;  // of others only META2 lies there
  const std::uint64_t end = survey.root().catalogue_end;
  const std::uint64_t begin = first * chunk;
  return end > begin ? std::min(count * chunk, end - begin) : 0;
}

}  // namespace

LayoutTable layout_table(const Survey& survey, const SpaceUse& use, std::uint32_t file,
                         std::size_t most_rows, std::size_t most_cells) {
  const FilePlan& plan = survey.plan().file(file);
  LayoutTable table;
  table.path = survey.files()[file].path;
  table.chunk_bytes = plan.chunk_bytes;
  table.tasks = plan.tasks();
  for (std::uint32_t i = 0; i < plan.writers; ++i)
    if (plan.first_writer + i < use.chunks.size())
      table.blocks =
          std::max<std::uint64_t>(table.blocks, use.chunks[plan.first_writer + i].size());
  if (file == 0 && plan.chunk_bytes != 0)
    table.blocks =
        std::max(table.blocks, divided_up(survey.root().catalogue_end, plan.chunk_bytes));
  if (table.blocks == 0) return table;
  table.blocks_per_cell = divided_up(table.blocks, std::max<std::size_t>(most_cells, 1));
  const auto cells = static_cast<std::size_t>(divided_up(table.blocks, table.blocks_per_cell));
  const auto cell_of = [&](std::uint64_t block) {
    return static_cast<std::size_t>(block / table.blocks_per_cell);
  };
  const auto new_row = [&](std::string label, std::uint64_t tasks) {
    LayoutRow& row = table.rows.emplace_back();
    row.label = std::move(label);
    row.cells.resize(cells);
    for (std::size_t i = 0; i < cells; ++i) {
      const std::uint64_t first = i * table.blocks_per_cell;
      row.cells[i].space =
          std::min(table.blocks_per_cell, table.blocks - first) * plan.chunk_bytes * tasks;
    }
  };

  const std::uint64_t per_row = divided_up(plan.writers, std::max<std::size_t>(most_rows, 1));
  for (std::uint32_t i = 0; i < plan.writers; ++i) {
    if (i % per_row == 0) {
      const std::uint64_t last = std::min<std::uint64_t>(i + per_row, plan.writers) - 1;
      const std::uint64_t first = plan.first_writer + i;
      new_row(last == i ? fmt::format("task {}", first)
                        : fmt::format("tasks {}-{}", first, plan.first_writer + last),
              last - i + 1);
    }
    if (plan.first_writer + i >= use.chunks.size()) continue;
    const auto& chunks = use.chunks[plan.first_writer + i];
    for (std::size_t block = 0; block < chunks.size(); ++block) {
      const ChunkUse& chunk = chunks[block];
      table.rows.back().cells[cell_of(block)].add(
          {0, chunk.live, chunk.older, chunk.used - chunk.live - chunk.older, 0});
    }
  }
  new_row("catalogue", 1);
  for (std::size_t i = 0; i < cells; ++i) {
    const std::uint64_t first = i * table.blocks_per_cell;
    table.rows.back().cells[i].catalogue =
        catalogue_in(survey, file, first, std::min(table.blocks_per_cell, table.blocks - first));
  }
  return table;
}

// What is there has one character at least, as far as they go; the others go one by one to what
// lacks most, free space included.
CellParts cell_parts(const LayoutCell& cell, std::size_t width) {
  if (cell.space == 0) return {};
  struct Part {
    std::uint64_t bytes = 0;
    std::size_t taken = 0;
  };
  const std::uint64_t used = cell.live + cell.older + cell.catalogue + cell.dead;
  std::array<Part, 5> parts{{{cell.live},
                             {cell.older},
                             {cell.catalogue},
                             {cell.dead},
                             {cell.space - std::min(used, cell.space)}}};
  std::size_t left = width;
  for (Part& part : parts)
    if (&part != &parts.back() && part.bytes > 0 && left > 0) {
      ++part.taken;
      --left;
    }
  const auto lack = [&](const Part& part) {
    return static_cast<double>(part.bytes) * static_cast<double>(width) /
               static_cast<double>(cell.space) -
           static_cast<double>(part.taken);
  };
  for (; left > 0; --left) ++std::ranges::max_element(parts, {}, lack)->taken;
  return {parts[0].taken, parts[1].taken, parts[3].taken, parts[2].taken};
}

}  // namespace bento::tools
