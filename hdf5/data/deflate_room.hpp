// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// What libdeflate needs to work, and room for bytes on their way from one filter to the next. All
/// datasets of the process share it: a compressor of most levels takes 650 KiB.
#pragma once

#include <array>
#include <cstddef>
#include <memory>

#include <libdeflate.h>

namespace bento::vol {

/// Memory that is not cleared first.
class RoomForBytes {
 public:
  /// At least that many bytes, of no known value.
  std::byte* at_least(std::size_t bytes);
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  std::unique_ptr<std::byte[]> bytes_;
  std::size_t size_ = 0;
};

class DeflateRoom {
 public:
  static constexpr int kHighestLevel = 9;

  /// Null if there is no memory for it. `level` is 0 to kHighestLevel.
  libdeflate_compressor* compressor(int level);
  libdeflate_decompressor* decompressor();

  RoomForBytes shuffled;
  RoomForBytes packed;

 private:
  struct Free {
    void operator()(libdeflate_compressor* one) const { libdeflate_free_compressor(one); }
    void operator()(libdeflate_decompressor* one) const { libdeflate_free_decompressor(one); }
  };
  std::array<std::unique_ptr<libdeflate_compressor, Free>, kHighestLevel + 1> compressors_;
  std::unique_ptr<libdeflate_decompressor, Free> decompressor_;
};

/// The process's room while it lives, or a new one if somebody else has that. It takes no lock,
/// which a child of fork() might find taken for ever.
class DeflateRoomUse {
 public:
  DeflateRoomUse();
  ~DeflateRoomUse();
  DeflateRoomUse(const DeflateRoomUse&) = delete;
  DeflateRoomUse& operator=(const DeflateRoomUse&) = delete;

  DeflateRoom* operator->() const { return room_.get(); }

 private:
  std::unique_ptr<DeflateRoom> room_;
};

}  // namespace bento::vol
