// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// The streams of a container of many physical files as they lie in one file: every writer keeps
/// its number, and with equal chunks everything in a stream keeps its position. So what refers to
/// (writer, position), as the step index does, stays as it is. Arithmetic only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "core/base/error.hpp"
#include "core/layout/chunk_fill.hpp"
#include "core/layout/plan.hpp"

namespace bento {

/// All writers of `from` in one physical file, with the groups and so the ranks that they have.
/// Errors: kUnsupported (groups with chunks of different sizes, or of a size that so many tasks
/// cannot have).
Result<ContainerPlan> in_one_file(const ContainerPlan& from, std::uint32_t fs_block);

/// Bytes that are the same in both layouts.
struct StreamPart {
  std::uint32_t file = 0;  ///< physical file in which they are
  std::uint64_t from = 0;  ///< address there
  std::uint64_t to = 0;    ///< address in the one file
  std::uint64_t bytes = 0;
  bool operator==(const StreamPart&) const = default;
};

/// The used bytes of all writers' chunks, by ascending address in the one file. What it is made of
/// must outlive it.
class StreamParts {
 public:
  /// `to` is in_one_file(from).
  StreamParts(const ContainerPlan& from, const ContainerPlan& to, std::span<const ChunkFill> fills);

  [[nodiscard]] std::optional<StreamPart> next();

 private:
  const ContainerPlan& from_;
  const ContainerPlan& to_;
  std::span<const ChunkFill> fills_;
  std::size_t blocks_ = 0;
  std::size_t block_ = 0;
  std::uint32_t writer_ = 0;
};

/// Chunk number `block` of the catalogue of file 0, which reaches up to `end`.
StreamPart catalogue_part(const ContainerPlan& from, const ContainerPlan& to, std::uint64_t block,
                          Position end);

}  // namespace bento
