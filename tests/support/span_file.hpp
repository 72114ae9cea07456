// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Read-only files over bytes that the test owns, for going through thousands of damaged images
/// without copying them. A read that asks for bytes behind the end is answered as any file would,
/// and remembered.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "core/io/file.hpp"

namespace bento::test {

class SpanFiles {
 public:
  /// The bytes must stay where they are.
  void put(const std::string& name, std::span<const std::byte> bytes) { files_[name] = bytes; }
  /// Refers to this object.
  [[nodiscard]] FileOpener opener();

  [[nodiscard]] std::uint64_t overreads() const { return overreads_; }
  void count_overread() { ++overreads_; }

 private:
  std::map<std::string, std::span<const std::byte>> files_;
  std::uint64_t overreads_ = 0;
};

}  // namespace bento::test
