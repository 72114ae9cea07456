// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// A file of which only the written bytes are kept, in memory: the metadata of an assembled file
/// that nobody stores.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/io/file.hpp"

namespace bento::vol {

/// What was never written reads as zeros. Runs of written bytes must not overlap each other in
/// part. Not thread-safe.
class MemoryStore final : public File {
 public:
  /// Holds up to `limit` bytes; more is kNoSpace.
  explicit MemoryStore(std::uint64_t limit) : limit_(limit) {}

  Result<std::size_t> read_some(std::uint64_t offset, std::span<std::byte> into) override;
  Status write_at(std::uint64_t offset, std::span<const std::byte> from) override;
  Result<std::uint64_t> size() override;
  /// Forgets the runs that begin there or behind.
  Status truncate(std::uint64_t bytes) override;
  Status sync() override { return {}; }
  Status close() override { return {}; }
  [[nodiscard]] const std::string& path() const override { return path_; }

 private:
  std::map<std::uint64_t, std::vector<std::byte>> runs_;
  std::uint64_t held_ = 0;
  std::uint64_t limit_;
  std::string path_ = "assembled metadata";
};

}  // namespace bento::vol
