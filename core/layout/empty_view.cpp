// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/layout/empty_view.hpp"

#include <array>
#include <span>

#include "core/bytes/byte_writer.hpp"
#include "core/layout/superblock.hpp"

namespace bento {

namespace {

constexpr std::uint64_t kUndefined = ~std::uint64_t{0};
constexpr std::string_view kName = "h5bento";

void put_text(ByteWriter& out, std::string_view text) {
  out.bytes(std::as_bytes(std::span(text)));
  out.u8(0);
}

void put_checksum(ByteWriter& out) {
  out.u32(hdf5_checksum(out.view()));
}

/// Version 2, base address P, end of file absolute, root group behind it.
std::vector<std::byte> superblock(std::uint64_t base, std::uint64_t length) {
  ByteWriter out;
  out.bytes(std::as_bytes(std::span(kHdf5Signature)));
  out.u8(2);
  out.u8(8);  // bytes of an address
  out.u8(8);  // and of a length
  out.u8(0);
  out.u64(base);
  out.u64(kUndefined);  // no extension
  out.u64(length);
  out.u64(kSuperblockBytes);
  put_checksum(out);
  return std::move(out).take();
}

/// A fixed-length string, scalar (version 3 of the message).
std::vector<std::byte> attribute(std::string_view text) {
  ByteWriter out;
  out.u8(3);
  out.u8(0);
  out.u16(static_cast<std::uint16_t>(kName.size() + 1));
  out.u16(8);
  out.u16(4);
  out.u8(0);
  put_text(out, kName);
  out.u8(0x13);  // datatype: version 1, class string, ended by a zero
  out.zeros(3);
  out.u32(static_cast<std::uint32_t>(text.size() + 1));
  out.u8(2);  // dataspace: version 2, scalar
  out.zeros(3);
  put_text(out, text);
  return std::move(out).take();
}

void put_message(ByteWriter& out, std::uint8_t type, std::span<const std::byte> body) {
  out.u8(type);
  out.u16(static_cast<std::uint16_t>(body.size()));
  out.u8(0);
  out.bytes(body);
}

/// Object header version 2 of a group without links.
std::vector<std::byte> root_group(std::string_view text) {
  ByteWriter links;
  links.u16(0);
  links.u64(kUndefined);
  links.u64(kUndefined);
  const std::array<std::byte, 2> group{};
  ByteWriter messages;
  put_message(messages, 0x02, links.view());
  put_message(messages, 0x0A, group);
  put_message(messages, 0x0C, attribute(text));

  ByteWriter out;
  out.bytes(std::as_bytes(std::span(std::string_view("OHDR"))));
  out.u8(2);
  out.u8(1);  // the size of what follows has 2 bytes
  out.u16(static_cast<std::uint16_t>(messages.size()));
  out.bytes(messages.view());
  put_checksum(out);
  return std::move(out).take();
}

}  // namespace

std::vector<std::byte> empty_view(std::uint64_t superblock_address, std::uint64_t length,
                                  std::string_view text) {
  auto bytes = superblock(superblock_address, length);
  const auto group = root_group(text);
  bytes.insert(bytes.end(), group.begin(), group.end());
  return bytes;
}

}  // namespace bento
