// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "hdf5/skeleton/contiguous_header.hpp"

#include <algorithm>
#include <utility>

#include "core/bytes/little_endian.hpp"
#include "hdf5/skeleton/header_bytes.hpp"
#include "hdf5/skeleton/header_messages.hpp"

namespace bento::vol {

namespace {

enum Message : std::uint16_t {
  kNil = 0x00,
  kDataspace = 0x01,
  kDatatype = 0x03,
  kOldFill = 0x04,
  kFill = 0x05,
  kLayout = 0x08,
  kAttribute = 0x0C,
  kComment = 0x0D,
  kOldModified = 0x0E,
  kModified = 0x12,
};
enum TypeClass : std::uint8_t { kString = 3, kBits = 4, kOpaque = 5, kEnum = 8, kSequence = 9 };
constexpr std::uint8_t kTextSequence = 1;
constexpr std::uint64_t kPrefixBytes = 16;
constexpr std::uint64_t kMessagePrefixBytes = 8;
constexpr std::uint64_t kNoAddress = ~std::uint64_t{0};

/// Bytes that mean the same in another file.
Result<std::uint64_t> size_of_plain_type(ByteReader& in) {
  BENTO_ASSIGN(const std::uint8_t first, in.u8());
  BENTO_TRY(in.skip(3));
  BENTO_ASSIGN(const std::uint32_t size, in.u32());
  const unsigned kind = first & 0x0Fu;
  if (kind <= kOpaque || kind == kEnum) return size;
  return not_of_this_kind();
}

Result<Dims> extent_in(ByteReader in) {
  BENTO_ASSIGN(const std::uint8_t version, in.u8());
  BENTO_ASSIGN(const std::uint8_t rank, in.u8());
  BENTO_TRY(in.skip(1));  // whether limits follow
  if (version == 1) {
    BENTO_TRY(in.skip(5));
  } else if (version == 2) {
    BENTO_ASSIGN(const std::uint8_t kind, in.u8());
    if (kind > 1) return not_of_this_kind();  // without elements
  } else {
    return not_of_this_kind();
  }
  if (rank > kMaxRank) return not_of_this_kind();
  Dims extent(rank);
  for (unsigned d = 0; d < rank; ++d) {
    BENTO_ASSIGN(extent[d], in.u64());
  }
  return extent;
}

/// Where in the message the address is.
Result<std::size_t> address_in(ByteReader in) {
  constexpr std::uint8_t kContiguous = 1;
  BENTO_ASSIGN(const std::uint8_t version, in.u8());
  BENTO_ASSIGN(const std::uint8_t kind, in.u8());
  if ((version != 3 && version != 4) || kind != kContiguous) return not_of_this_kind();
  const std::size_t at = in.offset();
  BENTO_ASSIGN(const std::uint64_t address, in.u64());
  if (address != kNoAddress) return not_of_this_kind();
  return at;
}

/// Where in the message its texts of any length begin; 0: its value is something else.
Result<std::size_t> texts_in(ByteReader in) {
  BENTO_ASSIGN(const std::uint8_t version, in.u8());
  BENTO_ASSIGN(const std::uint8_t shared, in.u8());  // version 1 has nothing there
  BENTO_ASSIGN(const std::uint16_t name, in.u16());
  BENTO_ASSIGN(const std::uint16_t type, in.u16());
  BENTO_ASSIGN(const std::uint16_t space, in.u16());
  if (version == 0 || version > 3 || (version > 1 && shared != 0)) return not_of_this_kind();
  const auto with_gap = [version](std::uint64_t bytes) {
    return version == 1 ? (bytes + 7) / 8 * 8 : bytes;
  };
  BENTO_TRY(in.skip(with_gap(name) + (version == 3 ? 1 : 0)));
  ByteReader first = in;
  BENTO_ASSIGN(const std::uint8_t kind, first.u8());
  BENTO_ASSIGN(const std::uint8_t bits, first.u8());
  if ((kind & 0x0Fu) == kSequence && (bits & 0x0Fu) == kTextSequence) {
    BENTO_TRY(in.skip(with_gap(type) + with_gap(space)));
    return in.offset();
  }
  BENTO_TRY(size_of_plain_type(in));
  return 0;
}

/// What the messages say, one after the other.
class Found {
 public:
  Status take(const HeaderMessage& message) {
    if (message.shared) return not_of_this_kind();
    if (message.kind == kNil) return {};
    header_.messages.push_back({message, 0});
    ByteReader in = header_reader(message.bytes);
    switch (message.kind) {
      case kDataspace: {
        ++spaces_;
        BENTO_ASSIGN(header_.extent, extent_in(in));
        return {};
      }
      case kDatatype: {
        ++types_;
        BENTO_ASSIGN(header_.element_bytes, size_of_plain_type(in));
        return {};
      }
      case kLayout: {
        ++layouts_;
        BENTO_ASSIGN(const std::size_t inside, address_in(in));
        header_.address_at = message.at + inside;
        return {};
      }
      case kAttribute: {
        BENTO_ASSIGN(header_.messages.back().texts_at, texts_in(in));
        return {};
      }
      case kOldFill:
      case kFill:
      case kComment:
      case kOldModified:
      case kModified:
        return {};
      default:
        return not_of_this_kind();
    }
  }
  [[nodiscard]] bool whole() const { return spaces_ == 1 && types_ == 1 && layouts_ == 1; }
  [[nodiscard]] ContiguousHeader take() && { return std::move(header_); }

 private:
  ContiguousHeader header_;
  unsigned spaces_ = 0;
  unsigned types_ = 0;
  unsigned layouts_ = 0;
};

}  // namespace

std::optional<ContiguousHeader> read_contiguous_header(std::span<const std::byte> image,
                                                       std::uint64_t address) {
  Found found;
  const auto version = visit_header(
      image, address, [&](const HeaderMessage& message) { return found.take(message); });
  // Headers of version 2 end with a checksum.
  if (!version || *version != 1 || !found.whole()) return std::nullopt;
  return std::move(found).take();
}

std::uint64_t bytes_of_contiguous_header(const ContiguousHeader& header) {
  std::uint64_t bytes = kPrefixBytes;
  for (const auto& message : header.messages) bytes += kMessagePrefixBytes + message.bytes.size();
  return bytes;
}

bool write_contiguous_header(const ContiguousHeader& header, std::uint64_t data,
                             const MoveText& move, ByteWriter& out) {
  out.u8(1);  // version
  out.u8(0);
  out.u16(static_cast<std::uint16_t>(header.messages.size()));
  out.u32(1);  // links
  out.u32(static_cast<std::uint32_t>(bytes_of_contiguous_header(header) - kPrefixBytes));
  out.zeros(4);
  for (const auto& message : header.messages) {
    out.u16(message.kind);
    out.u16(static_cast<std::uint16_t>(message.bytes.size()));
    out.u8(message.flags);
    out.zeros(3);
    const std::span<std::byte> copy = out.zeros(message.bytes.size());
    std::ranges::copy(message.bytes, copy.begin());
    if (message.kind == kLayout)
      put_little_endian(
          copy.subspan(static_cast<std::size_t>(header.address_at - message.at), sizeof data),
          data);
    if (message.texts_at == 0) continue;
    auto texts = copy.subspan(message.texts_at);
    for (; texts.size() >= kTextBytes; texts = texts.subspan(kTextBytes))
      if (!move(texts.first<kTextBytes>())) return false;
  }
  return true;
}

std::optional<Dims> read_header_extent(std::span<const std::byte> image, std::uint64_t address) {
  std::optional<Dims> extent;
  const auto read = visit_header(image, address, [&](const HeaderMessage& message) -> Status {
    if (message.kind != kDataspace) return {};
    if (message.shared || extent) return not_of_this_kind();
    BENTO_ASSIGN(extent, extent_in(header_reader(message.bytes)));
    return {};
  });
  return read ? extent : std::nullopt;
}

}  // namespace bento::vol
