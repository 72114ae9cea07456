// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// KVTree files: u8 options, then a whole file, or with kSeal the packed tree alone, around which a
/// right header and checksum are put. What is read is written in a form that reads as the same.
#include <zlib.h>

#include "core/bytes/byte_writer.hpp"
#include "tests/fuzz/target.hpp"
#include "transfer/kvtree.hpp"
#include "transfer/transfer_file.hpp"

namespace bento::fuzz {
namespace {

enum Options : unsigned { kSeal = 1 };

std::vector<std::byte> sealed(Input body) {
  ByteWriter out(std::endian::big);
  out.u32(0x951FC3F5);
  out.u16(1);
  out.u16(1);
  out.u64(20 + body.size() + 4);
  out.u32(1);
  out.bytes(body);
  const auto view = out.view();
  out.u32(static_cast<std::uint32_t>(
      ::crc32_z(0, reinterpret_cast<const Bytef*>(view.data()), view.size())));
  return std::move(out).take();
}

}  // namespace

void kvtree(Input input) {
  Dice dice(input);
  const auto options = dice.number(1);
  const auto file = (options & kSeal) != 0
                        ? sealed(dice.rest())
                        : std::vector<std::byte>(dice.rest().begin(), dice.rest().end());
  const auto tree = transfer::decode_kvtree(file);
  if (!tree) return;
  const auto again = transfer::encode_kvtree(*tree);
  require(again.has_value(), "what was read can be written");
  const auto back = transfer::decode_kvtree(*again);
  require(back && *back == *tree, "what was written reads as the same");
  (void)transfer::print_kvtree(*tree, transfer::KvPrint::kTree);
  (void)transfer::print_kvtree(*tree, transfer::KvPrint::kKeyval);

  auto changed = *tree;
  const transfer::TransferState state = transfer::read_state(changed);
  for (auto entry : state.entries) {
    entry.written = entry.size;
    entry.named = true;
    if (!transfer::update_entry(changed, entry)) continue;
    const auto after = transfer::read_state(changed);
    bool complete = false;
    for (const auto& one : after.entries)
      complete = complete || (one.source == entry.source && one.complete());
    require(complete, "an entry that was updated says so");
  }
}

}  // namespace bento::fuzz

BENTO_FUZZ_MAIN(kvtree)
