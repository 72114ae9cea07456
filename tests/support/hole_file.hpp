// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// A sparse file of any size, for tests of what is held against the size of a file.
#pragma once

#include <algorithm>
#include <string>

#include "core/io/file.hpp"

namespace bento::test {

/// A file of which most is a hole: zeros that take no room. What `below` has lies in front.
class HoleFile final : public File {
 public:
  HoleFile(File& below, std::uint64_t bytes) : below_(below), bytes_(bytes) {}
  Result<std::size_t> read_some(std::uint64_t offset, std::span<std::byte> into) override {
    std::ranges::fill(into, std::byte{0});
    BENTO_TRY(below_.read_some(offset, into));
    return static_cast<std::size_t>(
        std::min<std::uint64_t>(into.size(), offset < bytes_ ? bytes_ - offset : 0));
  }
  Status write_at(std::uint64_t offset, std::span<const std::byte> from) override {
    return below_.write_at(offset, from);
  }
  Result<std::uint64_t> size() override { return bytes_; }
  Status truncate(std::uint64_t bytes) override { return below_.truncate(bytes); }
  Status sync() override { return {}; }
  Status close() override { return {}; }
  [[nodiscard]] const std::string& path() const override { return below_.path(); }

 private:
  File& below_;
  std::uint64_t bytes_;
};

}  // namespace bento::test
