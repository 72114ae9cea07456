// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "hdf5/regions/extent_header.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "core/bytes/byte_writer.hpp"

namespace bento::vol {

namespace {

constexpr std::size_t kReadAtOnce = 512;
constexpr std::uint16_t kDataspaceMessage = 1;

Result<std::vector<std::byte>> dataspace_message(hid_t space) {
  std::array<hsize_t, H5S_MAX_RANK> now{};
  std::array<hsize_t, H5S_MAX_RANK> limit{};
  const H5S_class_t kind = H5Sget_simple_extent_type(space);
  const int rank =
      kind == H5S_NULL ? 0 : H5Sget_simple_extent_dims(space, now.data(), limit.data());
  if (kind == H5S_NO_CLASS || rank < 0) return fail(Code::kInternal, "the extent is unreadable");
  const auto dims = static_cast<std::size_t>(rank);
  const bool limited = !std::equal(now.begin(), now.begin() + rank, limit.begin());
  ByteWriter out(std::endian::little);
  // Version 1 knows no null extent, version 2 no header without its kind.
  const bool null = kind == H5S_NULL;
  out.u8(null ? 2 : 1);
  out.u8(static_cast<std::uint8_t>(rank));
  out.u8(limited ? 1 : 0);
  out.u8(null ? 2 : 0);
  out.u32(0);
  for (std::size_t d = 0; d < dims; ++d) out.u64(now[d]);
  for (std::size_t d = 0; limited && d < dims; ++d) out.u64(limit[d]);
  return std::move(out).take();
}

}  // namespace

Result<std::vector<std::byte>> extent_header(hid_t space) {
  BENTO_ASSIGN(const auto message, dataspace_message(space));
  ByteWriter out(std::endian::little);
  out.u8(1);  // version
  out.u8(0);
  out.u16(1);  // messages
  out.u32(1);  // links
  out.u32(static_cast<std::uint32_t>(8 + message.size()));
  out.u32(0);
  out.u16(kDataspaceMessage);
  out.u16(static_cast<std::uint16_t>(message.size()));
  out.u32(0);  // flags
  out.bytes(message);
  auto header = std::move(out).take();
  if (header.size() > kReadAtOnce)
    return fail(Code::kUnsupported, "regions of datasets of more than 30 dimensions");
  return header;
}

}  // namespace bento::vol
