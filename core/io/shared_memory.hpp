// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Memory that several processes of a node share: a file without a name, which goes with the last
/// process that has it, however that ends. It is large and sparse, so that everybody's part of it
/// can grow where it is; a page costs memory from its first use on. Task-local.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/error.hpp"
#include "core/io/private_descriptor.hpp"

namespace bento {

/// A new file of so many bytes. Errors: kUnsupported (this system has none, or a limit on the size
/// of files keeps it from being so large).
Result<PrivateDescriptor> make_shared_memory(std::uint64_t bytes);

/// A part of it, mapped from its beginning on as far as it was asked for.
class SharedWindow {
 public:
  /// At `offset`, a multiple of the page size; no more than `limit` bytes. `descriptor` must
  /// outlive this. Maps nothing yet.
  SharedWindow(int descriptor, std::uint64_t offset, std::uint64_t limit, bool writable)
      : descriptor_(descriptor), offset_(offset), limit_(limit), writable_(writable) {}
  ~SharedWindow();
  SharedWindow(SharedWindow&& other) noexcept;
  SharedWindow& operator=(SharedWindow&&) = delete;
  SharedWindow(const SharedWindow&) = delete;
  SharedWindow& operator=(const SharedWindow&) = delete;

  /// The first `bytes` can be used afterwards. data() may change. Errors: kNoSpace.
  Status reach(std::uint64_t bytes) { return bytes <= mapped_ ? Status{} : map(bytes); }
  [[nodiscard]] std::byte* data() const { return data_; }
  /// Gives the memory of all that lies behind the first `bytes` back; it reads as zeros then.
  void give_back(std::uint64_t bytes);
  /// It stays mapped when this goes.
  void leave() { data_ = nullptr; }

 private:
  Status map(std::uint64_t bytes);

  int descriptor_;
  std::uint64_t offset_;
  std::uint64_t limit_;
  bool writable_;
  std::byte* data_ = nullptr;
  std::uint64_t mapped_ = 0;
};

}  // namespace bento
