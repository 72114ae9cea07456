// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "hdf5/native/memory_store.hpp"

#include <algorithm>
#include <cerrno>
#include <iterator>

#include <fmt/format.h>

namespace bento::vol {

Result<std::size_t> MemoryStore::read_some(std::uint64_t offset, std::span<std::byte> into) {
  std::ranges::fill(into, std::byte{0});
  const std::uint64_t end = offset + into.size();
  auto run = runs_.upper_bound(offset);
  if (run != runs_.begin()) --run;
  for (; run != runs_.end() && run->first < end; ++run) {
    const auto& [start, bytes] = *run;
    const std::uint64_t from = std::max(start, offset);
    const std::uint64_t to = std::min(start + bytes.size(), end);
    if (from < to)
      std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(from - start), to - from,
                  into.begin() + static_cast<std::ptrdiff_t>(from - offset));
  }
  return into.size();
}

Status MemoryStore::write_at(std::uint64_t offset, std::span<const std::byte> from) {
  auto run = runs_.upper_bound(offset);
  if (run != runs_.begin()) {
    --run;
    const std::uint64_t skip = offset - run->first;
    if (skip < run->second.size() && from.size() <= run->second.size() - skip) {
      std::ranges::copy(from, run->second.begin() + static_cast<std::ptrdiff_t>(skip));
      return {};
    }
  }
  if (from.size() > limit_ - held_)
    return fail(Code::kNoSpace, fmt::format("the metadata of the assembled file, with what HDF5 "
                                            "keeps there, needs more than {} bytes of memory",
                                            limit_));
  held_ += from.size();
  runs_[offset].assign(from.begin(), from.end());
  return {};
}

Result<std::uint64_t> MemoryStore::size() {
  return runs_.empty() ? 0 : runs_.rbegin()->first + runs_.rbegin()->second.size();
}

Status MemoryStore::truncate(std::uint64_t bytes) {
  const auto behind = runs_.lower_bound(bytes);
  for (auto run = behind; run != runs_.end(); ++run) held_ -= run->second.size();
  runs_.erase(behind, runs_.end());
  return {};
}

}  // namespace bento::vol
