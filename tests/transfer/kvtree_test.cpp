// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include <zlib.h>

#include <algorithm>

#include <catch2/catch_test_macros.hpp>

#include "core/bytes/byte_writer.hpp"
#include "tests/support/matchers.hpp"
#include "tests/transfer/golden_scr.hpp"
#include "transfer/kvtree.hpp"
#include "transfer/transfer_file.hpp"

using namespace bento;
using namespace bento::test;
using namespace bento::transfer;

namespace {

using Bytes = std::vector<std::byte>;

/// A file around `body`, its checksum right.
Bytes sealed(const Bytes& body, std::uint32_t flags = 1) {
  ByteWriter out(std::endian::big);
  out.u32(0x951FC3F5);
  out.u16(1);
  out.u16(1);
  out.u64(20 + body.size() + 4);
  out.u32(flags);
  out.bytes(body);
  const auto view = out.view();
  const auto* const data = reinterpret_cast<const Bytef*>(view.data());
  out.u32(static_cast<std::uint32_t>(::crc32(0, data, static_cast<uInt>(view.size()))));
  return std::move(out).take();
}

Bytes level(std::uint32_t count, const Bytes& rest) {
  ByteWriter out(std::endian::big);
  out.u32(count);
  out.bytes(rest);
  return std::move(out).take();
}

Bytes element(const std::string& key, const Bytes& below) {
  ByteWriter out(std::endian::big);
  out.bytes(std::as_bytes(std::span(key)));
  out.u8(0);
  out.bytes(below);
  return std::move(out).take();
}

Bytes operator+(Bytes one, const Bytes& other) {
  one.insert(one.end(), other.begin(), other.end());
  return one;
}

const Bytes kLeaf = level(0, {});

}  // namespace

TEST_CASE("kvtree: SCR's files are read, printed and written as SCR does", "[transfer]") {
  for (const auto& golden : require_golden_scr()) {
    INFO(golden.name);
    const KvTree tree = must(decode_kvtree(golden.content));
    CHECK(print_kvtree(tree, KvPrint::kTree) == golden.tree);
    if (!golden.keyval.empty()) CHECK(print_kvtree(tree, KvPrint::kKeyval) == golden.keyval);
    CHECK(must(encode_kvtree(tree)) == golden.content);
  }
}

TEST_CASE("kvtree: the published example, made from its values", "[transfer]") {
  const std::string from = "/tmp/user1/scr.1001186/index.0/dataset.1/rank_0.ckpt";
  const std::string to = "/p/lscratchb/user1/simulation123/scr.dataset.1/rank_0.ckpt";
  KvTree tree;
  KvTree& files = tree.append("FILES");
  for (const auto& [end, size] :
       {std::pair<std::string, const char*>{"", "524294"}, {".scr", "124"}}) {
    KvTree& file = files.append(from + end);
    file.append("DESTINATION", to + end);
    file.append("SIZE", size);
    file.append("WRITTEN", size);
  }
  for (const auto& [key, value] : {std::pair<const char*, const char*>{"PERCENT", "0.000000"},
                                   {"BW", "52428800.000000"},
                                   {"COMMAND", "RUN"},
                                   {"STATE", "STOPPED"},
                                   {"FLAG", "DONE"}})
    tree.append(key, value);
  const auto golden = require_golden_scr().front();
  CHECK(must(encode_kvtree(tree)) == golden.content);
}

TEST_CASE("kvtree: each byte changed, and each length, is an error", "[transfer]") {
  const auto golden = require_golden_scr().front();
  for (std::size_t length = 1; length < golden.content.size(); ++length)
    require_error(decode_kvtree(std::span(golden.content).first(length)), Code::kCorrupt);
  Bytes changed = golden.content;
  for (auto& byte : changed) {
    byte ^= std::byte{0x10};
    // The bit of the flags that says that there is a checksum is not this one.
    CHECK_FALSE(decode_kvtree(changed));
    byte ^= std::byte{0x10};
  }
  CHECK(must(decode_kvtree({})).empty());
  changed.push_back(std::byte{7});  // behind the length that the header says
  CHECK(must(decode_kvtree(changed)) == must(decode_kvtree(golden.content)));
}

TEST_CASE("kvtree: counts and keys that lie are found before anything is taken", "[transfer]") {
  require_error(decode_kvtree(sealed(level(0xFFFFFFFF, {}))), Code::kCorrupt, {"4294967295"});
  require_error(decode_kvtree(sealed(level(1, Bytes(8, std::byte{'a'})))), Code::kCorrupt,
                {"has no end", "24"});
  require_error(decode_kvtree(sealed({})), Code::kCorrupt);
  Bytes deep = kLeaf;
  for (unsigned i = 0; i < kMaxKvDepth; ++i) deep = level(1, element("k", deep));
  require_ok(decode_kvtree(sealed(deep)));
  deep = level(1, element("k", deep));
  require_error(decode_kvtree(sealed(deep)), Code::kUnsupported, {"levels"});
  Bytes long_header = sealed(kLeaf);
  long_header[8] = std::byte{1};
  require_error(decode_kvtree(long_header), Code::kUnsupported, {"byte 8"});
  // Without the flag the last four bytes are no checksum.
  Bytes unchecked = sealed(level(1, element("A", kLeaf)), 0);
  unchecked.back() ^= std::byte{1};
  CHECK(must(decode_kvtree(unchecked)).find("A") != nullptr);
}

TEST_CASE("kvtree: keys that occur twice are merged in SCR's order", "[transfer]") {
  const Bytes body = level(
      3, element("A", level(2, element("1", kLeaf) + element("2", kLeaf))) + element("B", kLeaf) +
             element("A",
                     level(2, element("3", kLeaf) + element("2", level(1, element("x", kLeaf))))));
  const KvTree tree = must(decode_kvtree(sealed(body)));
  // What SCR's print tool prints of the same file.
  CHECK(print_kvtree(tree, KvPrint::kTree) == "  B\n  A\n    1\n    3\n    2\n      x\n");
}

TEST_CASE("kvtree: many equal keys take no quadratic time", "[transfer]") {
  Bytes many;
  constexpr std::uint32_t kCount = 400'000;
  for (std::uint32_t i = 0; i < kCount; ++i) many = std::move(many) + element("", kLeaf);
  CHECK(must(decode_kvtree(sealed(level(kCount, many)))).size() == 1);
}

TEST_CASE("transfer file: numbers as SCR reads them, entries that are none", "[transfer]") {
  KvTree tree;
  KvTree& files = tree.append("FILES");
  const auto add = [&](const char* name, const char* size, const char* written) {
    KvTree& file = files.append(name);
    file.append("DESTINATION", "/d");
    file.append("SIZE", size);
    file.append("WRITTEN", written);
  };
  add("/hex", "0x10", "010");
  add("/bad", "12x", "0");
  add("/minus", "-1", "0");
  add("/huge", "99999999999999999999999", "0");
  add("/two", "1", "0");
  files.find("/two")->at("SIZE").append("2");
  tree.append("BW", "garbage");
  tree.append("PERCENT", "12.5");
  tree.append("COMMAND", "JUMP");
  const TransferState state = read_state(tree);
  REQUIRE(state.entries.size() == 1);
  CHECK(state.entries[0].size == 16);
  CHECK(state.entries[0].written == 8);
  CHECK_FALSE(state.bytes_per_second);
  CHECK(state.cpu_percent == 12.5);
  CHECK(state.command == Command::kStop);
  CHECK(state.unknown_command == "JUMP");
}

TEST_CASE("transfer file: what the daemon changes leaves all else in its place", "[transfer]") {
  const auto golden = require_golden_scr()[3];
  REQUIRE(golden.name == "daemon/step_03.scrinfo");
  KvTree tree = must(decode_kvtree(golden.content));
  TransferState state = read_state(tree);
  REQUIRE(state.entries.size() == 4);
  Entry entry = state.entries[0];
  entry.written = 524294;
  CHECK(update_entry(tree, entry));
  // Step 4 of the real daemon says the same, in an order of its own.
  const TransferState next = read_state(must(decode_kvtree(require_golden_scr()[4].content)));
  for (const auto& one : next.entries) {
    const auto same = read_state(tree).entries;
    const auto found = std::ranges::find(same, one.source, &Entry::source);
    REQUIRE(found != same.end());
    CHECK(found->written == one.written);
  }
  entry.destination = "/elsewhere";
  CHECK_FALSE(update_entry(tree, entry));
}
