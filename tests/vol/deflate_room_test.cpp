// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "hdf5/data/deflate_room.hpp"

#include <optional>

#include <catch2/catch_test_macros.hpp>

namespace bento::vol {
namespace {

TEST_CASE("deflate room: one for all, another one for who comes while it is in use",
          "[vol][filters]") {
  libdeflate_compressor* first = nullptr;
  {
    DeflateRoomUse room;
    first = room->compressor(3);
    CHECK(first != nullptr);
    CHECK(room->compressor(3) == first);
    CHECK(room->compressor(4) != first);
  }
  std::optional<DeflateRoomUse> room(std::in_place);
  CHECK((*room)->compressor(3) == first);
  std::optional<DeflateRoomUse> other(std::in_place);
  libdeflate_compressor* const second = (*other)->compressor(3);
  CHECK(second != first);
  room.reset();
  other.reset();  // takes the place of the first one
  CHECK(DeflateRoomUse()->compressor(3) == second);
}

TEST_CASE("deflate room: what is large is not kept", "[vol][filters]") {
  {
    DeflateRoomUse room;
    room->packed.at_least(1u << 20);
    room->shuffled.at_least(100u << 20);
    CHECK(room->shuffled.size() == 100u << 20);
    CHECK(room->shuffled.at_least(10) != nullptr);
    CHECK(room->shuffled.size() == 100u << 20);
  }
  DeflateRoomUse room;
  CHECK(room->packed.size() >= 1u << 20);
  CHECK(room->shuffled.size() == 0);
}

}  // namespace
}  // namespace bento::vol
