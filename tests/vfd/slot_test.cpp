// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/joined/slot.hpp"

#include <catch2/catch_test_macros.hpp>

#include "core/joined/joined_container.hpp"
#include "tests/support/memory_file.hpp"

namespace bento {
namespace {

SessionId layout_id(unsigned char first) {
  SessionId id{};
  id[0] = std::byte{first};
  return id;
}

Slot some_slot() {
  Slot slot;
  slot.layout = layout_id(7);
  slot.task = 1;
  slot.rank = 3;
  slot.flags = kSlotUsed | kSlotWriting;
  slot.turn = (1ull << 40) + 5;
  slot.bytes = (1ull << 33) + 1;
  slot.reach = (1ull << 34) + 2;
  slot.job[15] = std::byte{9};
  slot.name = std::string(kJoinedNameBytes, 'n');
  return slot;
}

TEST_CASE("slot: what is encoded is decoded", "[core][joined]") {
  CHECK(decode_slot(encode_slot(some_slot())) == some_slot());
  const JoinedHeader header{layout_id(1), 1ull << 41, 3, std::string(kJobBytes, 'j')};
  CHECK(decode_joined_header(encode_joined_header(header)) == header);
}

TEST_CASE("slot: a changed bit anywhere makes it none", "[core][joined]") {
  const auto good = encode_slot(some_slot());
  for (std::size_t at = 0; at < good.size(); ++at) {
    auto bad = good;
    bad[at] ^= std::byte{0x10};
    INFO("byte " << at);
    CHECK_FALSE(decode_slot(bad).has_value());
  }
  CHECK_FALSE(decode_slot(std::span(good).first(500)).has_value());
}

struct Place {
  ContainerPlan plan;
  std::unique_ptr<File> file;
};

Place small_container() {
  auto plan = ContainerPlan::make(40, 1, 4096);
  REQUIRE(plan);
  plan->set_chunk_bytes(16384);
  auto file = MemoryFileSystem().opener()("x", OpenMode::kCreate);
  REQUIRE(file);
  REQUIRE((*file)->truncate(plan->file(0).block_address(4)));
  return {*plan, std::move(*file)};
}

TEST_CASE("slot: the newer of two places counts, of this layout only", "[core][joined]") {
  const auto [plan, file] = small_container();
  const FilePlan& part = plan.file(0);
  Slot slot = some_slot();
  slot.flags = kSlotUsed;
  for (const char* name : {"first", "second", "third"}) {
    slot.name = name;
    REQUIRE(write_slot(*file, part, slot));
    const auto found = read_slot(*file, part, slot.layout, 1);
    REQUIRE(found);
    CHECK(found->name == name);
  }
  CHECK(slot.turn == 3);
  const auto other = read_slot(*file, part, layout_id(8), 1);
  REQUIRE(other);
  CHECK_FALSE(other->used());

  // A writing that is torn leaves the one before it.
  const std::uint64_t at = part.address(part.catalogue_task(), kJoinedHeaderBytes + 2 * kSlotBytes);
  REQUIRE(file->write_at(at + 100, std::vector<std::byte>(20, std::byte{0xFF})));
  const auto before = read_slot(*file, part, slot.layout, 1);
  REQUIRE(before);
  CHECK(before->name == "second");
}

TEST_CASE("slot: all tasks are visited, across chunks", "[core][joined]") {
  const auto [plan, file] = small_container();
  const FilePlan& part = plan.file(0);
  for (std::uint32_t task = 0; task < 40; task += 3) {
    Slot slot = some_slot();
    slot.task = task;
    slot.name = std::to_string(task);
    REQUIRE(write_slot(*file, part, slot));
  }
  std::uint32_t next = 0;
  REQUIRE(visit_slots(*file, part, layout_id(7), 40, [&](const Slot& slot) {
    CHECK(slot.task == next);
    CHECK(slot.used() == (next % 3 == 0));
    if (slot.used()) CHECK(slot.name == std::to_string(next));
    ++next;
    return true;
  }));
  CHECK(next == 40);
}

TEST_CASE("slot: what cannot be is damage", "[core][joined]") {
  const auto [plan, file] = small_container();
  const auto refused = [&, &f = file, &p = plan](auto change) {
    Slot slot = some_slot();
    change(slot);
    REQUIRE(write_slot(*f, p.file(0), slot));
    // Read as task 1, wherever it says that it belongs.
    const std::uint64_t at =
        p.file(0).address(p.file(0).catalogue_task(), kJoinedHeaderBytes + 2 * kSlotBytes);
    REQUIRE(f->write_at(at, encode_slot(slot)));
    REQUIRE(f->write_at(at + kSlotBytes, encode_slot(slot)));
    const auto found = read_slot(*f, p.file(0), slot.layout, 1);
    return !found && found.error().code == Code::kCorrupt;
  };
  CHECK_FALSE(refused([](Slot&) {}));
  CHECK(refused([](Slot& slot) { slot.task = 2; }));
  CHECK(refused([](Slot& slot) { slot.bytes = slot.reach + 1; }));
  CHECK(refused([](Slot& slot) { slot.reach = kMaxLogicalBytes; }));
  CHECK(refused([](Slot& slot) { slot.name.clear(); }));
  CHECK(refused([](Slot& slot) { slot.name = std::string("a\0b", 3); }));
}

TEST_CASE("names in a container are relative to its folder", "[core][joined]") {
  CHECK(name_in_container("/no/such/run.bento", "/no/such/a.h5") == "a.h5");
  CHECK(name_in_container("/no/such/run.bento", "/no/such/rank3/./a.h5") == "rank3/a.h5");
  CHECK(name_in_container("/no/such/run.bento", "/no/other/a.h5") == "../other/a.h5");
  CHECK(name_in_container("run.bento", "x/../a.h5") == "a.h5");
}

}  // namespace
}  // namespace bento
