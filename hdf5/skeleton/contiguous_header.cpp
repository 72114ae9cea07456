// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "hdf5/skeleton/contiguous_header.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "core/bytes/byte_reader.hpp"

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
  kContinuation = 0x10,
  kModified = 0x12,
};
enum TypeClass : std::uint8_t { kString = 3, kBits = 4, kOpaque = 5, kEnum = 8, kSequence = 9 };
constexpr std::uint8_t kMessageShared = 2;
constexpr std::size_t kMessagePrefix = 8;
constexpr std::size_t kHeaderPrefix = 16;
constexpr std::size_t kMostBlocks = 16;
constexpr std::uint64_t kNoAddress = ~std::uint64_t{0};

/// For whoever asks it means no more than "not of this kind".
tl::unexpected<Error> other() {
  return fail(Code::kUnsupported, {});
}

ByteReader reader(std::span<const std::byte> bytes) {
  return ByteReader(bytes, std::endian::little, "object header");
}

/// Addresses and lengths of eight bytes, and addresses that count from the first byte.
Result<bool> has_usual_fields(std::span<const std::byte> image) {
  static constexpr std::array<unsigned char, 8> kSignature = {0x89, 'H',  'D',  'F',
                                                              '\r', '\n', 0x1A, '\n'};
  ByteReader in = reader(image);
  BENTO_ASSIGN(const auto signature, in.bytes(kSignature.size()));
  if (!std::ranges::equal(signature, std::as_bytes(std::span(kSignature)))) return false;
  BENTO_ASSIGN(const std::uint8_t version, in.u8());
  if (version > 3) return false;
  if (version < 2) BENTO_TRY(in.skip(4));
  BENTO_ASSIGN(const std::uint8_t address_bytes, in.u8());
  BENTO_ASSIGN(const std::uint8_t length_bytes, in.u8());
  // Two sizes of B-tree nodes and flags; in version 1 one more size.
  BENTO_TRY(in.skip(version >= 2 ? 1 : version == 1 ? 13 : 9));
  BENTO_ASSIGN(const std::uint64_t base, in.u64());
  return address_bytes == 8 && length_bytes == 8 && base == 0;
}

/// Bytes that mean the same in another file.
Result<std::uint64_t> size_of_plain_type(ByteReader& in, bool text_of_any_length) {
  BENTO_ASSIGN(const std::uint8_t first, in.u8());
  BENTO_ASSIGN(const std::uint8_t bits, in.u8());
  BENTO_TRY(in.skip(2));
  BENTO_ASSIGN(const std::uint32_t size, in.u32());
  const unsigned kind = first & 0x0Fu;
  const bool text = kind == kSequence && (bits & 0x0Fu) == 1;
  if (kind <= kOpaque || kind == kEnum || (text_of_any_length && text)) return size;
  return other();
}

Result<Dims> extent_in(ByteReader in) {
  BENTO_ASSIGN(const std::uint8_t version, in.u8());
  BENTO_ASSIGN(const std::uint8_t rank, in.u8());
  BENTO_TRY(in.skip(1));  // whether limits follow
  if (version == 1) {
    BENTO_TRY(in.skip(5));
  } else if (version == 2) {
    BENTO_ASSIGN(const std::uint8_t kind, in.u8());
    if (kind > 1) return other();  // without elements
  } else {
    return other();
  }
  if (rank > kMaxRank) return other();
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
  if ((version != 3 && version != 4) || kind != kContiguous) return other();
  const std::size_t at = in.offset();
  BENTO_ASSIGN(const std::uint64_t address, in.u64());
  if (address != kNoAddress) return other();
  return at;
}

Status check_attribute(ByteReader in) {
  BENTO_ASSIGN(const std::uint8_t version, in.u8());
  BENTO_ASSIGN(const std::uint8_t shared, in.u8());  // version 1 has nothing there
  BENTO_ASSIGN(std::uint64_t name, in.u16());
  BENTO_TRY(in.skip(4));
  if (version == 0 || version > 3 || (version > 1 && shared != 0)) return other();
  if (version == 1) name = (name + 7) / 8 * 8;
  BENTO_TRY(in.skip(name + (version == 3 ? 1 : 0)));
  BENTO_TRY(size_of_plain_type(in, true));
  return {};
}

/// Offset and length in the image.
using Block = std::pair<std::uint64_t, std::uint64_t>;

class Walk {
 public:
  explicit Walk(std::span<const std::byte> image) : image_(image) {}

  Result<ContiguousHeader> run(std::uint64_t address) {
    BENTO_ASSIGN(const bool usual, has_usual_fields(image_));
    if (!usual) return other();
    BENTO_ASSIGN(const auto prefix, bytes_of({address, kHeaderPrefix}));
    ByteReader in = reader(prefix);
    BENTO_ASSIGN(const std::uint8_t version, in.u8());
    BENTO_TRY(in.skip(7));  // number of messages, number of links
    BENTO_ASSIGN(const std::uint32_t length, in.u32());
    if (version != 1) return other();
    blocks_.emplace_back(address + kHeaderPrefix, length);
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      if (i == kMostBlocks) return other();
      BENTO_TRY(walk(blocks_[i]));
    }
    if (spaces_ != 1 || types_ != 1 || layouts_ != 1) return other();
    return header_;
  }

 private:
  Result<std::span<const std::byte>> bytes_of(const Block& block) const {
    const auto [offset, length] = block;
    if (offset > image_.size() || length > image_.size() - offset) return other();
    return image_.subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(length));
  }

  Status walk(const Block block) {
    BENTO_ASSIGN(const auto bytes, bytes_of(block));
    ByteReader in = reader(bytes);
    while (in.remaining() >= kMessagePrefix) {
      BENTO_ASSIGN(const std::uint16_t kind, in.u16());
      BENTO_ASSIGN(const std::uint16_t size, in.u16());
      BENTO_ASSIGN(const std::uint8_t flags, in.u8());
      BENTO_TRY(in.skip(3));
      const std::uint64_t at = block.first + in.offset();
      BENTO_ASSIGN(const auto message, in.bytes(size));
      if ((flags & kMessageShared) != 0) return other();
      BENTO_TRY(take(kind, message, at));
    }
    return {};
  }

  Status take(std::uint16_t kind, std::span<const std::byte> message, std::uint64_t at) {
    ByteReader in = reader(message);
    switch (kind) {
      case kDataspace: {
        ++spaces_;
        BENTO_ASSIGN(header_.extent, extent_in(in));
        return {};
      }
      case kDatatype: {
        ++types_;
        BENTO_ASSIGN(header_.element_bytes, size_of_plain_type(in, false));
        return {};
      }
      case kLayout: {
        ++layouts_;
        BENTO_ASSIGN(const std::size_t inside, address_in(in));
        header_.address_at = at + inside;
        return {};
      }
      case kAttribute:
        return check_attribute(in);
      case kContinuation: {
        BENTO_ASSIGN(const std::uint64_t offset, in.u64());
        BENTO_ASSIGN(const std::uint64_t length, in.u64());
        blocks_.emplace_back(offset, length);
        return {};
      }
      case kNil:
      case kOldFill:
      case kFill:
      case kComment:
      case kOldModified:
      case kModified:
        return {};
      default:
        return other();
    }
  }

  std::span<const std::byte> image_;
  std::vector<Block> blocks_;
  ContiguousHeader header_;
  unsigned spaces_ = 0;
  unsigned types_ = 0;
  unsigned layouts_ = 0;
};

}  // namespace

std::optional<ContiguousHeader> read_contiguous_header(std::span<const std::byte> image,
                                                       std::uint64_t address) {
  auto header = Walk(image).run(address);
  if (!header) return std::nullopt;
  return *std::move(header);
}

}  // namespace bento::vol
