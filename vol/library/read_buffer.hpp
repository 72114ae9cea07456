// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// A large buffer that is filled by reads. Its memory comes in huge pages where the system has
/// them, and nobody sets it to zero: both together take longer than the reads.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/error.hpp"

namespace bento::vol {

class ReadBuffer {
 public:
  ReadBuffer() = default;
  ~ReadBuffer() { release(); }
  ReadBuffer(const ReadBuffer&) = delete;
  ReadBuffer& operator=(const ReadBuffer&) = delete;

  /// What stood in it is lost. Errors: kNoSpace.
  Status resize(std::uint64_t bytes);
  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  void release();

  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace bento::vol
