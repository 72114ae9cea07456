// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "hdf5/data/variable_elements.hpp"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "core/bytes/byte_writer.hpp"
#include "hdf5/base/handle.hpp"
#include "hdf5/base/types.hpp"

namespace bento::vol {

namespace {

constexpr std::byte kEncodingVersion{1};
constexpr std::size_t kArenaBlock = 64u << 10;
constexpr std::size_t kAlignment = alignof(std::max_align_t);

template <class T>
T value_at(const std::byte* at) {
  T value;
  std::memcpy(static_cast<void*>(&value), at, sizeof value);
  return value;
}

template <class T>
void put_value(std::byte* at, const T& value) {
  std::memcpy(at, static_cast<const void*>(&value), sizeof value);
}

std::uint64_t varint_bytes(std::uint64_t value) {
  std::uint64_t bytes = 1;
  while (value >= 0x80u) value >>= 7, ++bytes;
  return bytes;
}

/// A sequence without a pointer is one without elements.
hvl_t sequence_at(const std::byte* at) {
  auto sequence = value_at<hvl_t>(at);
  if (sequence.p == nullptr) sequence.len = 0;
  return sequence;
}

void put_bytes(std::vector<std::byte>& out, const void* from, std::size_t bytes) {
  const auto* const first = static_cast<const std::byte*>(from);
  out.insert(out.end(), first, first + bytes);
}

struct WritingSink {
  std::vector<std::byte>& out;
  void varint(std::uint64_t value) { put_varint(out, value); }
  void bytes(const void* from, std::size_t bytes) { put_bytes(out, from, bytes); }
};

struct CountingSink {
  std::uint64_t count = 0;
  void varint(std::uint64_t value) { count += varint_bytes(value); }
  void bytes(const void*, std::size_t bytes) { count += bytes; }
};

Result<void*> allocate_value(const AllocateValue& allocate, std::size_t bytes) {
  void* const value = allocate(bytes);
  if (value == nullptr)
    return fail(Code::kNoSpace, fmt::format("no memory for a value of {} bytes", bytes));
  return value;
}

/// Calls `visit(coordinates)` for the elements of a box in row-major order.
template <class Visit>
Status for_each_element(const Box& box, const Visit& visit) {
  Dims at = box.start;
  for (std::uint64_t left = box.elements(); left != 0; --left) {
    BENTO_TRY(visit(at));
    for (unsigned d = box.rank(); d-- > 0;) {
      if (++at[d] < box.start[d] + box.count[d]) break;
      at[d] = box.start[d];
    }
  }
  return {};
}

bool is_inside(const Box& box, const Dims& at) {
  for (unsigned d = 0; d < box.rank(); ++d)
    if (at[d] < box.start[d] || at[d] - box.start[d] >= box.count[d]) return false;
  return true;
}

Dims ones(unsigned rank) {
  Dims dims(rank);
  for (unsigned d = 0; d < rank; ++d) dims[d] = 1;
  return dims;
}

Result<ByteReader> open_record(std::span<const std::byte> stored) {
  ByteReader in(stored, std::endian::little, "variable-length record");
  BENTO_ASSIGN(const std::uint8_t version, in.u8());
  if (std::byte{version} != kEncodingVersion)
    return fail(Code::kCorrupt, fmt::format("variable-length record of kind {}", version));
  return in;
}

Error no_references() {
  return {Code::kUnsupported, "a reference of HDF5 1.12, where none can be followed", 0};
}

Error no_regions() {
  return {Code::kUnsupported, "a reference to a region, where none can be followed", 0};
}

Status check_end(const ByteReader& in) {
  if (in.remaining() == 0) return {};
  return fail(Code::kCorrupt,
              fmt::format("variable-length record: {} bytes behind its elements", in.remaining()));
}

}  // namespace

void* ValueArena::allocate(std::size_t bytes) {
  const std::size_t wanted = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  if (wanted < bytes) return nullptr;
  const bool alone = wanted > kArenaBlock / 4;
  if (alone || wanted > left_) {
    blocks_.push_back(std::make_unique_for_overwrite<std::byte[]>(alone ? wanted : kArenaBlock));
    if (alone) return blocks_.back().get();
    next_ = blocks_.back().get();
    left_ = kArenaBlock;
  }
  void* const value = next_;
  next_ += wanted;
  left_ -= wanted;
  return value;
}

void ValueArena::clear() {
  blocks_.clear();
  next_ = nullptr;
  left_ = 0;
}

// --- the type
// -------------------------------------------------------------------------------------------------

bool VariableElements::Layout::fixed() const {
  return parts.size() == 1 && parts[0].kind == Part::Kind::kFixed && parts[0].offset == 0 &&
         parts[0].count == bytes;
}

Result<VariableElements> VariableElements::of(hid_t type) {
  VariableElements made;
  made.layout_.bytes = H5Tget_size(type);
  if (made.layout_.bytes == 0) return fail(Code::kInternal, "the datatype is unreadable");
  BENTO_TRY(describe(type, 0, made.layout_));
  return made;
}

void VariableElements::add_fixed(std::size_t offset, std::size_t bytes, Layout& out) {
  if (!out.parts.empty() && out.parts.back().kind == Part::Kind::kFixed &&
      out.parts.back().offset + out.parts.back().count == offset) {
    out.parts.back().count += bytes;
    return;
  }
  Part part;
  part.offset = offset;
  part.count = bytes;
  out.parts.push_back(std::move(part));
}

Status VariableElements::describe_reference(hid_t type, std::size_t offset, Layout& out) {
  Part part;
  part.offset = offset;
  part.count = H5Tget_size(type);
  part.kind = H5Tequal(type, H5T_STD_REF_OBJ) > 0       ? Part::Kind::kObject
              : H5Tequal(type, H5T_STD_REF_DSETREG) > 0 ? Part::Kind::kRegion
                                                        : Part::Kind::kReference;
  if (part.kind == Part::Kind::kRegion && part.count != kRegionReferenceBytes)
    return fail(Code::kUnsupported,
                "references to regions of a file with other sizes of addresses");
  if (part.kind == Part::Kind::kReference && part.count != kReferenceBytes)
    return fail(Code::kUnsupported, "references of a kind that this version does not know");
  out.parts.push_back(std::move(part));
  return {};
}

Status VariableElements::describe(hid_t type, std::size_t offset, Layout& out) {
  const H5T_class_t kind = H5Tget_class(type);
  if (kind == H5T_REFERENCE) return describe_reference(type, offset, out);
  if (kind == H5T_COMPOUND) {
    const int members = H5Tget_nmembers(type);
    for (int i = 0; i < members; ++i) {
      const auto number = static_cast<unsigned>(i);
      const TypeHandle member(H5Tget_member_type(type, number));
      if (!member.valid()) return fail(Code::kInternal, "the datatype is unreadable");
      BENTO_TRY(describe(member.get(), offset + H5Tget_member_offset(type, number), out));
    }
    return {};
  }
  Part part;
  part.offset = offset;
  if (kind == H5T_STRING && H5Tis_variable_str(type) > 0) {
    part.kind = Part::Kind::kString;
  } else if (kind == H5T_VLEN ||
             (kind == H5T_ARRAY &&
              (has_variable_length(type) || has_compound(type) || has_reference(type)))) {
    const TypeHandle base(H5Tget_super(type));
    part.kind = kind == H5T_VLEN ? Part::Kind::kSequence : Part::Kind::kArray;
    part.base.bytes = H5Tget_size(base.get());
    if (part.base.bytes == 0) return fail(Code::kInternal, "the datatype is unreadable");
    BENTO_TRY(describe(base.get(), 0, part.base));
    if (kind == H5T_ARRAY) part.count = H5Tget_size(type) / part.base.bytes;
  } else {
    add_fixed(offset, H5Tget_size(type), out);
    return {};
  }
  out.parts.push_back(std::move(part));
  return {};
}

// --- to bytes
// -------------------------------------------------------------------------------------------------

void VariableElements::begin(std::vector<std::byte>& out) {
  out.assign(1, kEncodingVersion);
}

template <class Sink>
Status VariableElements::put(const Layout& layout, const std::byte* element, Sink& sink) const {
  for (const Part& part : layout.parts) {
    const std::byte* const at = element + part.offset;
    switch (part.kind) {
      case Part::Kind::kFixed:
      case Part::Kind::kObject:
        sink.bytes(at, part.count);
        break;
      case Part::Kind::kRegion:
        if (is_null_region(at))
          sink.varint(0);
        else
          BENTO_TRY(put_known(regions_, no_regions, at, sink));
        break;
      case Part::Kind::kReference:
        if (is_null_reference(at))
          sink.varint(0);
        else
          BENTO_TRY(put_known(references_, no_references, at, sink));
        break;
      case Part::Kind::kString: {
        const auto* const text = value_at<const char*>(at);
        const std::size_t length = text == nullptr ? 0 : std::strlen(text);
        sink.varint(text == nullptr ? 0 : length + 1);
        sink.bytes(text, length);
        break;
      }
      case Part::Kind::kSequence: {
        const hvl_t sequence = sequence_at(at);
        sink.varint(sequence.len);
        BENTO_TRY(
            put_all(part.base, static_cast<const std::byte*>(sequence.p), sequence.len, sink));
        break;
      }
      case Part::Kind::kArray:
        BENTO_TRY(put_all(part.base, at, part.count, sink));
        break;
    }
  }
  return {};
}

template <class Sink>
Status VariableElements::put_all(const Layout& base, const std::byte* first, std::size_t count,
                                 Sink& sink) const {
  if (base.fixed()) {
    sink.bytes(first, count * base.bytes);
    return {};
  }
  for (std::size_t i = 0; i < count; ++i) BENTO_TRY(put(base, first + i * base.bytes, sink));
  return {};
}

template <class Sink, class Values>
Status VariableElements::put_known(Values* values, Error (*unknown)(), const std::byte* reference,
                                   Sink& sink) {
  if (values == nullptr) return fail(unknown());
  BENTO_ASSIGN(const auto stored, values->get(reference));
  sink.varint(stored.size());
  sink.bytes(stored.data(), stored.size());
  return {};
}

Result<std::uint64_t> VariableElements::encoded_bytes(const std::byte* element) const {
  CountingSink sink;
  BENTO_TRY(put(layout_, element, sink));
  return sink.count;
}

Status VariableElements::encode(const std::byte* element, std::vector<std::byte>& out) const {
  WritingSink sink{out};
  return put(layout_, element, sink);
}

// --- and back
// -------------------------------------------------------------------------------------------------

// So that a length which the bytes cannot hold takes no memory.
std::size_t VariableElements::least_bytes(const Layout& layout) {
  std::size_t bytes = 0;
  for (const Part& part : layout.parts) {
    const bool stored_as_it_is =
        part.kind == Part::Kind::kFixed || part.kind == Part::Kind::kObject;
    if (stored_as_it_is)
      bytes += part.count;
    else if (part.kind == Part::Kind::kArray)
      bytes += part.count * least_bytes(part.base);
    else
      bytes += 1;
  }
  return std::max<std::size_t>(bytes, 1);
}

// Whatever fails, an element that was begun is whole: it has null where it has no value yet.
Status VariableElements::decode(const Layout& layout, ByteReader& in, std::byte* element,
                                const AllocateValue& allocate) const {
  for (const Part& part : layout.parts) {
    std::byte* const at = element + part.offset;
    switch (part.kind) {
      case Part::Kind::kFixed:
      case Part::Kind::kObject: {
        BENTO_ASSIGN(const auto bytes, in.bytes(part.count));
        std::memcpy(at, bytes.data(), bytes.size());
        break;
      }
      case Part::Kind::kRegion:
        BENTO_TRY(decode_region(in, at));
        break;
      case Part::Kind::kReference:
        BENTO_TRY(decode_reference(in, at));
        break;
      case Part::Kind::kString: {
        BENTO_ASSIGN(const std::uint64_t coded, in.varint());
        if (coded == 0) break;
        BENTO_ASSIGN(const auto bytes, in.bytes(coded - 1));
        BENTO_ASSIGN(void* const value, allocate_value(allocate, bytes.size() + 1));
        auto* const text = static_cast<char*>(value);
        std::memcpy(text, bytes.data(), bytes.size());
        text[bytes.size()] = '\0';
        put_value(at, text);
        break;
      }
      case Part::Kind::kSequence: {
        BENTO_ASSIGN(const std::uint64_t length, in.varint());
        if (length == 0) break;
        BENTO_TRY(in.fits(length, least_bytes(part.base)));
        hvl_t sequence{static_cast<std::size_t>(length), nullptr};
        const std::size_t bytes = sequence.len * part.base.bytes;
        BENTO_ASSIGN(sequence.p, allocate_value(allocate, bytes));
        std::memset(sequence.p, 0, bytes);
        put_value(at, sequence);
        auto* const first = static_cast<std::byte*>(sequence.p);
        if (part.base.fixed()) {
          BENTO_ASSIGN(const auto values, in.bytes(bytes));
          std::memcpy(first, values.data(), bytes);
        } else {
          for (std::size_t i = 0; i < sequence.len; ++i)
            BENTO_TRY(decode(part.base, in, first + i * part.base.bytes, allocate));
        }
        break;
      }
      case Part::Kind::kArray:
        for (std::size_t i = 0; i < part.count; ++i)
          BENTO_TRY(decode(part.base, in, at + i * part.base.bytes, allocate));
        break;
    }
  }
  return {};
}

Status VariableElements::decode_region(ByteReader& in, std::byte* reference) const {
  BENTO_ASSIGN(const std::uint64_t length, in.varint());
  if (length == 0) return {};
  if (length < kRegionAddressBytes)
    return fail(Code::kCorrupt, fmt::format("a reference to a region of {} bytes", length));
  BENTO_ASSIGN(const auto region, in.bytes(length));
  if (regions_ == nullptr) return fail(no_regions());
  return regions_->put(region, reference);
}

Status VariableElements::decode_reference(ByteReader& in, std::byte* reference) const {
  BENTO_ASSIGN(const std::uint64_t length, in.varint());
  if (length == 0) return {};
  BENTO_ASSIGN(const auto stored, in.bytes(length));
  if (references_ == nullptr) return fail(no_references());
  return references_->put(stored, reference);
}

Status VariableElements::skip(const Layout& layout, ByteReader& in) {
  for (const Part& part : layout.parts) {
    switch (part.kind) {
      case Part::Kind::kFixed:
      case Part::Kind::kObject:
        BENTO_TRY(in.skip(part.count));
        break;
      case Part::Kind::kRegion:
      case Part::Kind::kReference: {
        BENTO_ASSIGN(const std::uint64_t length, in.varint());
        BENTO_TRY(in.skip(length));
        break;
      }
      case Part::Kind::kString: {
        BENTO_ASSIGN(const std::uint64_t coded, in.varint());
        if (coded > 1) BENTO_TRY(in.skip(coded - 1));
        break;
      }
      case Part::Kind::kSequence: {
        BENTO_ASSIGN(const std::uint64_t length, in.varint());
        BENTO_TRY(in.fits(length, least_bytes(part.base)));
        if (part.base.fixed()) {
          BENTO_TRY(in.skip(length * part.base.bytes));
        } else {
          for (std::uint64_t i = 0; i < length; ++i) BENTO_TRY(skip(part.base, in));
        }
        break;
      }
      case Part::Kind::kArray:
        for (std::size_t i = 0; i < part.count; ++i) BENTO_TRY(skip(part.base, in));
        break;
    }
  }
  return {};
}

Status VariableElements::decode(const Box& box, std::span<const std::byte> stored, const Box& part,
                                const Box& to_box, std::byte* to,
                                const AllocateValue& allocate) const {
  BENTO_ASSIGN(ByteReader in, open_record(stored));
  std::uint64_t left = part.elements();
  BENTO_TRY(for_each_element(box, [&](const Dims& at) -> Status {
    if (left == 0) return {};
    if (!is_inside(part, at)) return skip(layout_, in);
    --left;
    std::byte* const element =
        to + row_major_offset(to_box, Box{at, ones(box.rank())}) * layout_.bytes;
    std::memset(element, 0, layout_.bytes);
    return decode(layout_, in, element, allocate);
  }));
  return part == box ? check_end(in) : Status{};
}

Result<std::vector<std::byte>> VariableElements::cut(const Box& box,
                                                     std::span<const std::byte> stored,
                                                     const Box& part) const {
  BENTO_ASSIGN(ByteReader in, open_record(stored));
  std::vector<std::byte> out;
  begin(out);
  BENTO_TRY(for_each_element(box, [&](const Dims& at) -> Status {
    const std::size_t from = in.offset();
    BENTO_TRY(skip(layout_, in));
    if (is_inside(part, at)) put_bytes(out, stored.data() + from, in.offset() - from);
    return {};
  }));
  BENTO_TRY(check_end(in));
  return out;
}

void VariableElements::release(std::byte* elements, std::size_t count,
                               const FreeValue& free) const {
  for (std::size_t i = 0; i < count; ++i) release(layout_, elements + i * layout_.bytes, free);
}

void VariableElements::release(const Layout& layout, std::byte* element, const FreeValue& free) {
  for (const Part& part : layout.parts) {
    std::byte* const at = element + part.offset;
    if (part.kind == Part::Kind::kString) {
      if (auto* const text = value_at<char*>(at); text != nullptr) free(text);
      put_value<char*>(at, nullptr);
    } else if (part.kind == Part::Kind::kSequence) {
      const hvl_t sequence = sequence_at(at);
      if (sequence.p == nullptr) continue;
      auto* const first = static_cast<std::byte*>(sequence.p);
      for (std::size_t i = 0; i < sequence.len && !part.base.fixed(); ++i)
        release(part.base, first + i * part.base.bytes, free);
      free(sequence.p);
      put_value(at, hvl_t{});
    } else if (part.kind == Part::Kind::kArray) {
      for (std::size_t i = 0; i < part.count; ++i)
        release(part.base, at + i * part.base.bytes, free);
    }
  }
}

bool VariableElements::is_reference(const Part& part) {
  return part.kind == Part::Kind::kObject || part.kind == Part::Kind::kRegion ||
         part.kind == Part::Kind::kReference;
}

bool VariableElements::contains(const Layout& layout, bool (*what)(const Part&)) {
  return std::ranges::any_of(
      layout.parts, [what](const Part& part) { return what(part) || contains(part.base, what); });
}

bool VariableElements::has_references(const Layout& layout) {
  return contains(layout, is_reference);
}

bool VariableElements::has_regions(const Layout& layout) {
  return contains(layout, [](const Part& part) { return part.kind == Part::Kind::kRegion; });
}

bool VariableElements::has_new_references(const Layout& layout) {
  return contains(layout, [](const Part& part) { return part.kind == Part::Kind::kReference; });
}

Status VariableElements::for_each_region(std::byte* elements, std::size_t count,
                                         const VisitRegion& visit) const {
  for (std::size_t i = 0; i < count; ++i)
    BENTO_TRY(for_each_region(layout_, elements + i * layout_.bytes, visit));
  return {};
}

Status VariableElements::for_each_region(const Layout& layout, std::byte* element,
                                         const VisitRegion& visit) {
  for (const Part& part : layout.parts) {
    std::byte* const at = element + part.offset;
    if (part.kind == Part::Kind::kRegion) {
      if (!is_null_region(at)) BENTO_TRY(visit(at));
    } else if (has_regions(part.base)) {
      const hvl_t sequence =
          part.kind == Part::Kind::kSequence ? sequence_at(at) : hvl_t{part.count, at};
      for (std::size_t i = 0; i < sequence.len; ++i)
        BENTO_TRY(for_each_region(
            part.base, static_cast<std::byte*>(sequence.p) + i * part.base.bytes, visit));
    }
  }
  return {};
}

void VariableElements::clear_references(std::byte* elements, std::size_t count) const {
  for (std::size_t i = 0; i < count; ++i) clear_references(layout_, elements + i * layout_.bytes);
}

void VariableElements::clear_references(const Layout& layout, std::byte* element) {
  for (const Part& part : layout.parts) {
    std::byte* const at = element + part.offset;
    if (is_reference(part)) {
      std::memset(at, 0, part.count);
    } else if (has_references(part.base)) {
      const hvl_t sequence =
          part.kind == Part::Kind::kSequence ? sequence_at(at) : hvl_t{part.count, at};
      for (std::size_t i = 0; i < sequence.len; ++i)
        clear_references(part.base, static_cast<std::byte*>(sequence.p) + i * part.base.bytes);
    }
  }
}

}  // namespace bento::vol
