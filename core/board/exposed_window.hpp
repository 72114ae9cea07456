// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// A part of the memory that ranks of a node share, which ranks of other nodes may read, too, where
/// there are any: it stays where it is then, and none of it is given back.
#pragma once

#include <algorithm>

#include "core/board/segments.hpp"
#include "core/comm/remote_memory.hpp"
#include "core/io/shared_memory.hpp"

namespace bento {

class ExposedWindow {
 public:
  ExposedWindow(int descriptor, std::uint64_t offset)
      : window_(descriptor, offset, kMostBoardBytes, true) {}

  /// Before anything else. Errors: kNoSpace (so many addresses are not to be had).
  Status begin(RemoteMemory& remote) {
    remote_ = &remote;
    return window_.reach(kMostExposedBytes);
  }
  [[nodiscard]] std::uint64_t address() const {
    return reinterpret_cast<std::uintptr_t>(window_.data());
  }

  Status reach(std::uint64_t bytes) {
    if (remote_ == nullptr || bytes <= kMostExposedBytes) return window_.reach(bytes);
    return fail(Code::kNoSpace,
                "what was written since the last flush is more than other nodes can be shown "
                "(16 GiB)");
  }
  [[nodiscard]] std::byte* data() const { return window_.data(); }
  void give_back(std::uint64_t bytes) {
    if (remote_ == nullptr) window_.give_back(bytes);
  }
  /// Ranks of other nodes can read the first `bytes` afterwards. Errors: kNoSpace, kPeer.
  Status expose(std::uint64_t bytes) {
    if (remote_ == nullptr) return {};
    while (exposed_ < bytes) {
      const std::uint64_t end = segment_end(exposed_);
      BENTO_TRY(remote_->expose(window_.data() + exposed_, end - exposed_));
      exposed_ = end;
    }
    return {};
  }
  /// Others may still read it: it stays mapped when this goes.
  void leave() { window_.leave(); }

 private:
  SharedWindow window_;
  RemoteMemory* remote_ = nullptr;
  std::uint64_t exposed_ = 0;
};

}  // namespace bento
