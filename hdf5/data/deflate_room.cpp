// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "hdf5/data/deflate_room.hpp"

#include <atomic>
#include <utility>

namespace bento::vol {

namespace {

/// Room for larger chunks goes when they are done.
constexpr std::size_t kKeptBytes = 16u << 20;

/// Freed when the plugin is unloaded. Whoever comes later still, as HDF5 may when the process
/// exits, finds it empty.
class KeptRoom {
 public:
  constexpr KeptRoom() = default;
  ~KeptRoom() { put(nullptr); }
  KeptRoom(const KeptRoom&) = delete;
  KeptRoom& operator=(const KeptRoom&) = delete;

  std::unique_ptr<DeflateRoom> take() { return put(nullptr); }
  /// Returns what was kept before.
  std::unique_ptr<DeflateRoom> put(std::unique_ptr<DeflateRoom> room) {
    return std::unique_ptr<DeflateRoom>(room_.exchange(room.release()));
  }

 private:
  std::atomic<DeflateRoom*> room_{nullptr};
};

constinit KeptRoom kept;

}  // namespace

std::byte* RoomForBytes::at_least(std::size_t bytes) {
  if (bytes > size_) {
    bytes_.reset();
    size_ = 0;
    bytes_ = std::make_unique_for_overwrite<std::byte[]>(bytes);
    size_ = bytes;
  }
  return bytes_.get();
}

libdeflate_compressor* DeflateRoom::compressor(int level) {
  auto& one = compressors_[static_cast<std::size_t>(level)];
  if (!one) one.reset(libdeflate_alloc_compressor(level));
  return one.get();
}

libdeflate_decompressor* DeflateRoom::decompressor() {
  if (!decompressor_) decompressor_.reset(libdeflate_alloc_decompressor());
  return decompressor_.get();
}

DeflateRoomUse::DeflateRoomUse() : room_(kept.take()) {
  if (!room_) room_ = std::make_unique<DeflateRoom>();
}

DeflateRoomUse::~DeflateRoomUse() {
  for (RoomForBytes* bytes : {&room_->shuffled, &room_->packed})
    if (bytes->size() > kKeptBytes) *bytes = RoomForBytes();
  kept.put(std::move(room_));
}

}  // namespace bento::vol
