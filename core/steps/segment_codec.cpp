// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/steps/segment_codec.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "core/base/checked.hpp"
#include "core/steps/column_codec.hpp"

namespace bento {

namespace {

constexpr std::size_t kHashBytes = 16;

Error corrupt(const ByteReader& in, std::string_view what) {
  return Error{Code::kCorrupt, fmt::format("index entries: {} (byte {})", what, in.offset()), 0};
}

Result<std::uint32_t> get_u32(ByteReader& in, std::string_view what) {
  BENTO_ASSIGN(const std::uint64_t value, in.varint());
  if (value > 0xFFFFFFFFu)
    return fail(corrupt(in, fmt::format("{} {} is beyond 32 bits", what, value)));
  return static_cast<std::uint32_t>(value);
}

Result<Hash128> get_hash(ByteReader& in) {
  Hash128 hash;
  BENTO_ASSIGN(const auto bytes, in.bytes(hash.size()));
  std::copy(bytes.begin(), bytes.end(), hash.begin());
  return hash;
}

// --- declarations, deletions, extents
// ---------------------------------------------------------------------

void put_metadata(ByteWriter& out, const Segment& segment) {
  out.varint(segment.step);
  out.varint(segment.datasets.size());
  for (const auto& dataset : segment.datasets) {
    out.varint(dataset.number);
    out.bytes(dataset.token);
    out.varint(dataset.element_bytes);
    out.varint(dataset.rank);
    out.varint(dataset.flags);
  }
  out.varint(segment.deleted.size());
  for (const auto number : segment.deleted) out.varint(number);
  out.varint(segment.extents.size());
  for (const auto& event : segment.extents) {
    out.varint(event.dataset);
    out.varint(event.collective);
    out.varint(event.extent.rank());
    for (const auto value : event.extent.view()) out.varint(value);
  }
}

Status get_metadata(ByteReader& in, Segment& segment) {
  BENTO_ASSIGN(segment.step, in.varint());
  BENTO_ASSIGN(const std::uint64_t datasets, in.varint());
  BENTO_TRY(in.fits(datasets, 16));
  for (std::uint64_t i = 0; i < datasets; ++i) {
    DatasetDeclaration dataset;
    BENTO_ASSIGN(dataset.number, get_u32(in, "dataset number"));
    BENTO_ASSIGN(dataset.token, get_hash(in));
    BENTO_ASSIGN(dataset.element_bytes, in.varint());
    BENTO_ASSIGN(dataset.rank, get_u32(in, "number of dimensions"));
    BENTO_ASSIGN(dataset.flags, get_u32(in, "flags"));
    if (dataset.rank > kMaxRank)
      return fail(corrupt(in, fmt::format("{} dimensions", dataset.rank)));
    segment.datasets.push_back(dataset);
  }
  BENTO_ASSIGN(const std::uint64_t deleted, in.varint());
  BENTO_TRY(in.fits(deleted, 1));
  for (std::uint64_t i = 0; i < deleted; ++i) {
    BENTO_ASSIGN(const std::uint32_t number, get_u32(in, "dataset number"));
    segment.deleted.push_back(number);
  }
  BENTO_ASSIGN(const std::uint64_t extents, in.varint());
  BENTO_TRY(in.fits(extents, 3));
  for (std::uint64_t i = 0; i < extents; ++i) {
    ExtentEvent event;
    BENTO_ASSIGN(event.dataset, get_u32(in, "dataset number"));
    BENTO_ASSIGN(event.collective, in.varint());
    BENTO_ASSIGN(const std::uint32_t rank, get_u32(in, "number of dimensions"));
    if (rank > kMaxRank) return fail(corrupt(in, fmt::format("{} dimensions", rank)));
    event.extent = Dims(rank);
    for (unsigned d = 0; d < rank; ++d) {
      BENTO_ASSIGN(event.extent[d], in.varint());
    }
    segment.extents.push_back(event);
  }
  return {};
}

// --- records, a group for each dataset
// --------------------------------------------------------------------

using Group = std::span<const Record* const>;

template <class Field>
void put_field(ByteWriter& out, Group group, const Field& field) {
  std::vector<std::uint64_t> column;
  column.reserve(group.size());
  for (const auto* const record : group) column.push_back(field(*record));
  put_column(out, column);
}

void put_group(ByteWriter& out, Group group) {
  const unsigned rank = group.front()->box.rank();
  out.varint(group.front()->dataset);
  out.varint(rank);
  out.varint(group.size());
  for (unsigned d = 0; d < rank; ++d) {
    put_field(out, group, [d](const Record& r) { return r.box.start[d]; });
    put_field(out, group, [d](const Record& r) { return r.box.count[d]; });
  }
  put_field(out, group, [](const Record& r) { return r.order.collective; });
  put_field(out, group, [](const Record& r) { return r.order.time_ns; });
  put_field(out, group, [](const Record& r) { return std::uint64_t{r.order.rank}; });
  put_field(out, group, [](const Record& r) { return std::uint64_t{r.where.task}; });
  put_field(out, group, [](const Record& r) { return r.where.offset; });
  put_field(out, group, [](const Record& r) { return r.stored_bytes; });
  put_field(out, group, [](const Record& r) { return static_cast<std::uint64_t>(r.encoding); });
  put_field(out, group, [](const Record& r) { return std::uint64_t{r.filter_mask}; });
  for (const auto* const record : group) out.bytes(record->hash);
}

Status get_group(ByteReader& in, std::vector<Record>& records) {
  BENTO_ASSIGN(const std::uint32_t dataset, get_u32(in, "dataset number"));
  BENTO_ASSIGN(const std::uint32_t rank, get_u32(in, "number of dimensions"));
  if (rank > kMaxRank) return fail(corrupt(in, fmt::format("{} dimensions", rank)));
  BENTO_ASSIGN(const std::uint64_t wide_count, in.varint());
  BENTO_TRY(in.fits(wide_count,
                    kHashBytes));  // runs may stand for any number, hashes stand for themselves
  const auto count = static_cast<std::size_t>(wide_count);
  const std::size_t first = records.size();
  records.resize(first + count);
  const std::span<Record> group = std::span(records).subspan(first);
  for (auto& record : group) {
    record.dataset = dataset;
    record.box = {Dims(rank), Dims(rank)};
  }
  const auto each = [&](const auto& set) -> Status {
    BENTO_ASSIGN(const auto column, get_column(in, count));
    for (std::size_t i = 0; i < count; ++i)
      if (!set(group[i], column[i]))
        return fail(corrupt(in, fmt::format("impossible value {}", column[i])));
    return {};
  };
  for (unsigned d = 0; d < rank; ++d) {
    BENTO_TRY(each([d](Record& r, std::uint64_t v) { return r.box.start[d] = v, true; }));
    BENTO_TRY(each([d](Record& r, std::uint64_t v) {
      r.box.count[d] = v;
      return checked_add(r.box.start[d], v).has_value();
    }));
  }
  BENTO_TRY(each([](Record& r, std::uint64_t v) { return r.order.collective = v, true; }));
  BENTO_TRY(each([](Record& r, std::uint64_t v) { return r.order.time_ns = v, true; }));
  BENTO_TRY(each([](Record& r, std::uint64_t v) {
    return r.order.rank = static_cast<std::uint32_t>(v), v >> 32 == 0;
  }));
  BENTO_TRY(each([](Record& r, std::uint64_t v) {
    return r.where.task = static_cast<std::uint32_t>(v), v >> 32 == 0;
  }));
  BENTO_TRY(each([](Record& r, std::uint64_t v) { return r.where.offset = v, v >> 63 == 0; }));
  BENTO_TRY(each([](Record& r, std::uint64_t v) { return r.stored_bytes = v, true; }));
  BENTO_TRY(each([](Record& r, std::uint64_t v) {
    r.encoding = static_cast<Encoding>(v);
    return v <= static_cast<std::uint64_t>(Encoding::kVariable);
  }));
  BENTO_TRY(each([](Record& r, std::uint64_t v) {
    return r.filter_mask = static_cast<std::uint32_t>(v), v >> 32 == 0;
  }));
  for (auto& record : group) {
    BENTO_ASSIGN(record.hash, get_hash(in));
    std::uint64_t elements = 1;
    for (const auto extent : record.box.count.view()) {
      auto product = checked_mul(elements, extent);
      if (!product) return fail(corrupt(in, "a box of more than 2^64 elements"));
      elements = *product;
    }
  }
  return {};
}

Result<Segment> get_entries(ByteReader& in) {
  Segment segment;
  BENTO_TRY(get_metadata(in, segment));
  BENTO_ASSIGN(const std::uint64_t groups, in.varint());
  BENTO_TRY(in.fits(groups, 3));
  for (std::uint64_t i = 0; i < groups; ++i) BENTO_TRY(get_group(in, segment.records));
  if (in.remaining() != 0)
    return fail(corrupt(in, fmt::format("{} bytes left over", in.remaining())));
  return segment;
}

}  // namespace

std::vector<std::byte> encode_entries(const Segment& segment) {
  ByteWriter out;
  put_metadata(out, segment);
  std::vector<const Record*> sorted;
  sorted.reserve(segment.records.size());
  for (const auto& record : segment.records) sorted.push_back(&record);
  const auto key = [](const Record* r) { return std::pair(r->dataset, r->box.rank()); };
  std::stable_sort(sorted.begin(), sorted.end(),
                   [&](const Record* a, const Record* b) { return key(a) < key(b); });
  std::vector<Group> groups;
  for (std::size_t first = 0; first < sorted.size();) {
    std::size_t last = first + 1;
    while (last < sorted.size() && key(sorted[last]) == key(sorted[first])) ++last;
    groups.push_back(Group(sorted).subspan(first, last - first));
    first = last;
  }
  out.varint(groups.size());
  for (const auto& group : groups) put_group(out, group);
  return std::move(out).take();
}

Result<Segment> decode_entries(std::span<const std::byte> bytes) {
  ByteReader in(bytes, std::endian::little, "index entries");
  return get_entries(in);
}

}  // namespace bento
