// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "hdf5/skeleton/header_messages.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "hdf5/skeleton/header_bytes.hpp"

namespace bento::vol {

namespace {

constexpr std::uint16_t kContinuation = 0x10;
constexpr std::uint8_t kMessageShared = 2;
constexpr std::size_t kMostBlocks = 64;
constexpr std::size_t kChecksumBytes = 4;
constexpr std::size_t kSignatureBytes = 4;
constexpr std::size_t kMostPrefix = 4 + 2 + 16 + 4 + 8;  // of version 2

bool begins_with(std::span<const std::byte> bytes, std::string_view text) {
  return bytes.size() >= text.size() &&
         std::ranges::equal(bytes.first(text.size()), std::as_bytes(std::span(text)));
}

/// Addresses and lengths of eight bytes, and addresses that count from the first byte.
Result<bool> has_usual_fields(std::span<const std::byte> image) {
  static constexpr std::string_view kSignature = "\x89HDF\r\n\x1a\n";
  if (!begins_with(image, kSignature)) return false;
  ByteReader in = header_reader(image.subspan(kSignature.size()));
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

/// Offset and length in the image.
using Block = std::pair<std::uint64_t, std::uint64_t>;

class ImageSource final : public HeaderSource {
 public:
  explicit ImageSource(std::span<const std::byte> image) : image_(image) {}
  Result<std::span<const std::byte>> bytes(std::uint64_t offset, std::uint64_t length) override {
    if (offset > image_.size() || length > image_.size() - offset) return not_of_this_kind();
    return image_.subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(length));
  }
  Result<std::span<const std::byte>> up_to(std::uint64_t offset, std::uint64_t most) override {
    if (offset > image_.size()) return not_of_this_kind();
    return bytes(offset, std::min<std::uint64_t>(most, image_.size() - offset));
  }

 private:
  std::span<const std::byte> image_;
};

class Walk {
 public:
  Walk(HeaderSource& source, const std::function<Status(const HeaderMessage&)>& visit)
      : source_(source), visit_(visit) {}

  Result<unsigned> run(std::uint64_t address) {
    BENTO_ASSIGN(const auto begin, source_.up_to(address, kMostPrefix));
    version_ = begins_with(begin, "OHDR") ? 2 : 1;
    BENTO_ASSIGN(const Block first, version_ == 2 ? first_of_2(address) : first_of_1(address));
    blocks_.push_back(first);
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      if (i == kMostBlocks) return not_of_this_kind();
      BENTO_TRY(walk(blocks_[i]));
    }
    return version_;
  }

 private:
  Result<std::span<const std::byte>> bytes_of(const Block& block) const {
    return source_.bytes(block.first, block.second);
  }

  Result<Block> first_of_1(std::uint64_t address) {
    constexpr std::size_t kPrefix = 16;
    BENTO_ASSIGN(const auto prefix, bytes_of({address, kPrefix}));
    ByteReader in = header_reader(prefix);
    BENTO_ASSIGN(const std::uint8_t version, in.u8());
    BENTO_TRY(in.skip(7));  // number of messages, number of links
    BENTO_ASSIGN(const std::uint32_t length, in.u32());
    if (version != 1) return not_of_this_kind();
    return Block{address + kPrefix, length};
  }

  Result<Block> first_of_2(std::uint64_t address) {
    BENTO_ASSIGN(const auto prefix, source_.up_to(address, kMostPrefix));
    ByteReader in = header_reader(prefix);
    BENTO_TRY(in.skip(kSignatureBytes));
    BENTO_ASSIGN(const std::uint8_t version, in.u8());
    BENTO_ASSIGN(const std::uint8_t flags, in.u8());
    if (version != 2) return not_of_this_kind();
    if ((flags & 0x20u) != 0) BENTO_TRY(in.skip(16));  // times
    if ((flags & 0x10u) != 0) BENTO_TRY(in.skip(4));   // when attributes are stored elsewhere
    has_order_ = (flags & 0x04u) != 0;
    BENTO_ASSIGN(const auto size, in.bytes(std::uint64_t{1} << (flags & 3u)));
    std::uint64_t length = 0;
    for (std::size_t i = size.size(); i-- > 0;)
      length = length << 8 | std::to_integer<std::uint64_t>(size[i]);
    return Block{address + in.offset(), length};
  }

  Result<HeaderMessage> message_of(ByteReader& in, std::uint64_t begin) const {
    HeaderMessage message;
    if (version_ == 2) {
      BENTO_ASSIGN(message.kind, in.u8());
    } else {
      BENTO_ASSIGN(message.kind, in.u16());
    }
    BENTO_ASSIGN(const std::uint16_t size, in.u16());
    BENTO_ASSIGN(message.flags, in.u8());
    BENTO_TRY(in.skip(version_ == 1 ? 3 : has_order_ ? 2 : 0));
    message.shared = (message.flags & kMessageShared) != 0;
    message.at = begin + in.offset();
    BENTO_ASSIGN(message.bytes, in.bytes(size));
    return message;
  }

  Status walk(const Block block) {
    const std::size_t prefix = version_ == 1 ? 8 : has_order_ ? 6 : 4;
    BENTO_ASSIGN(const auto bytes, bytes_of(block));
    ByteReader in = header_reader(bytes);
    while (in.remaining() >= prefix) {
      BENTO_ASSIGN(const HeaderMessage message, message_of(in, block.first));
      if (message.kind == kContinuation && !message.shared)
        BENTO_TRY(go_on(message.bytes));
      else
        BENTO_TRY(visit_(message));
    }
    return {};
  }

  Status go_on(std::span<const std::byte> message) {
    ByteReader in = header_reader(message);
    BENTO_ASSIGN(std::uint64_t offset, in.u64());
    BENTO_ASSIGN(std::uint64_t length, in.u64());
    if (version_ == 2) {
      BENTO_ASSIGN(const auto block, bytes_of({offset, length}));
      if (!begins_with(block, "OCHK") || length < kSignatureBytes + kChecksumBytes)
        return not_of_this_kind();
      offset += kSignatureBytes;
      length -= kSignatureBytes + kChecksumBytes;
    }
    blocks_.emplace_back(offset, length);
    return {};
  }

  HeaderSource& source_;
  const std::function<Status(const HeaderMessage&)>& visit_;
  std::vector<Block> blocks_;
  unsigned version_ = 0;
  bool has_order_ = false;  ///< version 2: messages say in which order they were made
};

}  // namespace

Result<unsigned> visit_header(std::span<const std::byte> image, std::uint64_t address,
                              const std::function<Status(const HeaderMessage&)>& visit) {
  BENTO_ASSIGN(const bool usual, has_usual_fields(image));
  if (!usual) return not_of_this_kind();
  ImageSource source(image);
  return visit_header(source, address, visit);
}

Result<unsigned> visit_header(HeaderSource& source, std::uint64_t address,
                              const std::function<Status(const HeaderMessage&)>& visit) {
  return Walk(source, visit).run(address);
}

}  // namespace bento::vol
