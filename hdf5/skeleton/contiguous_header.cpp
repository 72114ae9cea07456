// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "hdf5/skeleton/contiguous_header.hpp"

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
constexpr std::uint64_t kNoAddress = ~std::uint64_t{0};

/// Bytes that mean the same in another file.
Result<std::uint64_t> size_of_plain_type(ByteReader& in, bool text_of_any_length) {
  BENTO_ASSIGN(const std::uint8_t first, in.u8());
  BENTO_ASSIGN(const std::uint8_t bits, in.u8());
  BENTO_TRY(in.skip(2));
  BENTO_ASSIGN(const std::uint32_t size, in.u32());
  const unsigned kind = first & 0x0Fu;
  const bool text = kind == kSequence && (bits & 0x0Fu) == 1;
  if (kind <= kOpaque || kind == kEnum || (text_of_any_length && text)) return size;
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

Status check_attribute(ByteReader in) {
  BENTO_ASSIGN(const std::uint8_t version, in.u8());
  BENTO_ASSIGN(const std::uint8_t shared, in.u8());  // version 1 has nothing there
  BENTO_ASSIGN(std::uint64_t name, in.u16());
  BENTO_TRY(in.skip(4));
  if (version == 0 || version > 3 || (version > 1 && shared != 0)) return not_of_this_kind();
  if (version == 1) name = (name + 7) / 8 * 8;
  BENTO_TRY(in.skip(name + (version == 3 ? 1 : 0)));
  BENTO_TRY(size_of_plain_type(in, true));
  return {};
}

/// What the messages say, one after the other.
class Found {
 public:
  Status take(const HeaderMessage& message) {
    if (message.shared) return not_of_this_kind();
    ByteReader in = header_reader(message.bytes);
    switch (message.kind) {
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
        header_.address_at = message.at + inside;
        return {};
      }
      case kAttribute:
        return check_attribute(in);
      case kNil:
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
  [[nodiscard]] const ContiguousHeader& header() const { return header_; }

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
  return found.header();
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
