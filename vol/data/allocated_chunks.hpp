// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Which chunks natively would exist.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <vector>

#include "vol/data/chunk_grid.hpp"

namespace bento::vol {

/// Indices of the chunks that exist.
class ChunkList {
 public:
  /// The first `count`.
  explicit ChunkList(std::uint64_t count) : count_(count), all_(true) {}
  explicit ChunkList(const std::set<std::uint64_t>& found)
      : count_(found.size()), some_(found.begin(), found.end()) {}

  [[nodiscard]] std::uint64_t size() const { return count_; }
  /// The n-th, ascending.
  [[nodiscard]] std::uint64_t operator[](std::uint64_t n) const {
    return all_ ? n : some_[static_cast<std::size_t>(n)];
  }

 private:
  std::uint64_t count_;
  bool all_ = false;
  std::vector<std::uint64_t> some_;
};

/// Does the library allocate all of the dataset when it is created or opened? `dcpl`: its list.
bool allocated_here(const DatasetState& state, hid_t dcpl);

/// Cost is in proportion to the records and to the chunks found, but for whoever asks again before
/// anything has changed. What is found is what all have written, also of a collective write that
/// others are late for, as natively. Errors: kCorrupt, kIo.
Result<std::shared_ptr<const ChunkList>> allocated_chunks(DatasetState& state,
                                                          const ChunkGrid& grid);

/// Is the chunk at these coordinates among them? Looks for its own records only, as a rule.
Result<bool> is_allocated(DatasetState& state, const ChunkGrid& grid, const Dims& at);

}  // namespace bento::vol
