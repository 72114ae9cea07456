// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Counts what is asked of files.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "tests/support/forwarding_file.hpp"

namespace bento::test {

struct ReadCounts {
  std::uint64_t reads = 0;
  std::uint64_t bytes = 0;
};

/// Opens files whose reads are added to `counts`, which must outlive them.
inline FileOpener counted(const FileOpener& below, ReadCounts& counts) {
  class CountingFile final : public ForwardingFile {
   public:
    CountingFile(std::unique_ptr<File> file, ReadCounts& counts)
        : ForwardingFile(std::move(file)), counts_(counts) {}
    Result<std::size_t> read_some(std::uint64_t offset, std::span<std::byte> into) override {
      ++counts_.reads;
      counts_.bytes += into.size();
      return below().read_some(offset, into);
    }

   private:
    ReadCounts& counts_;
  };
  return [&counts, below](const std::string& path, OpenMode mode) -> Result<std::unique_ptr<File>> {
    BENTO_ASSIGN(auto file, below(path, mode));
    return std::unique_ptr<File>(std::make_unique<CountingFile>(std::move(file), counts));
  };
}

}  // namespace bento::test
