// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Files in memory of which only what is not zero takes room, for containers of many terabytes that
/// hold a few megabytes. Every call is counted.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/io/file.hpp"

namespace bento::scale {

/// Not thread-safe. Must outlive all files that it has opened.
class SparseDisk {
 public:
  struct Counts {
    std::uint64_t opens = 0;
    std::uint64_t reads = 0;
    std::uint64_t writes = 0;
    std::uint64_t bytes_read = 0;
    std::uint64_t bytes_written = 0;
  };
  static constexpr std::uint64_t kBlockBytes = 512;
  struct Content {
    std::uint64_t bytes = 0;
    std::unordered_map<std::uint64_t, std::unique_ptr<std::array<std::byte, kBlockBytes>>> blocks;
  };

  SparseDisk() = default;
  SparseDisk(const SparseDisk&) = delete;
  SparseDisk& operator=(const SparseDisk&) = delete;

  /// For one rank, whose calls are counted in `counts`. `lockable`: its files have a descriptor, of
  /// an empty file of the same name that can be locked; who made them removes these.
  FileOpener opener(Counts& counts, bool lockable);
  /// Blocks that are not zero, of all files.
  [[nodiscard]] std::uint64_t blocks() const;

 private:
  Result<std::unique_ptr<File>> open(const std::string& path, OpenMode mode, Counts& counts,
                                     bool lockable);
  std::map<std::string, Content> files_;
};

}  // namespace bento::scale
