// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/records/write_times.hpp"

#include <algorithm>

namespace bento {

void WriteTimes::add(std::uint64_t elements, std::uint64_t time_ns) {
  put_varint(packed_, elements);
  put_varint(packed_, time_ns - last_);
  last_ = time_ns;
}

void WriteTimes::append(const WriteTimes& behind) {
  for (const Part& part : behind.parts()) add(part.end - part.begin, part.time_ns);
}

std::vector<WriteTimes::Part> WriteTimes::parts() const {
  std::vector<Part> all;
  ByteReader in(packed_, std::endian::little, "times of writes");
  Part part;
  while (in.remaining() != 0) {
    const auto elements = in.varint();
    const auto later = in.varint();
    if (!elements || !later) break;  // decode() has seen to it that there are none
    part = {part.end, part.end + *elements, part.time_ns + *later};
    all.push_back(part);
  }
  return all;
}

WriteTimes WriteTimes::slice(std::uint64_t begin, std::uint64_t end) const {
  WriteTimes out;
  for (const Part& part : parts()) {
    const std::uint64_t from = std::max(part.begin, begin);
    const std::uint64_t to = std::min(part.end, end);
    if (from < to) out.add(to - from, part.time_ns);
  }
  return out;
}

WriteTimes WriteTimes::within(const Box& whole, const Box& inner) const {
  if (inner == whole) return *this;
  WriteTimes out;
  for (const Part& part : parts()) {
    std::uint64_t elements = 0;
    for (const Box& box : boxes_of_run(whole, part.begin, part.end)) {
      const Box both = intersect(box, inner);
      if (!both.empty()) elements += both.elements();
    }
    if (elements != 0) out.add(elements, part.time_ns);
  }
  return out;
}

std::uint64_t WriteTimes::first_time() const {
  const auto all = parts();
  return all.empty() ? 0 : all.front().time_ns;
}

void WriteTimes::encode(ByteWriter& out) const {
  out.varint(packed_.size());
  out.bytes(packed_);
}

Result<WriteTimes> WriteTimes::decode(ByteReader& in) {
  BENTO_ASSIGN(const std::uint64_t size, in.varint());
  BENTO_ASSIGN(const auto bytes, in.bytes(size));
  WriteTimes times;
  ByteReader each(bytes, std::endian::little, "times of writes");
  std::uint64_t now = 0;
  while (each.remaining() != 0) {
    BENTO_ASSIGN(const std::uint64_t elements, each.varint());
    BENTO_ASSIGN(const std::uint64_t later, each.varint());
    now += later;
    times.add(elements, now);
  }
  return times;
}

Status for_each_later_part(
    const Box& whole, const WriteTimes& times,
    const std::function<Status(const Box&, std::uint64_t, std::uint64_t)>& use) {
  const auto parts = times.parts();
  for (std::size_t i = 1; i < parts.size(); ++i) {
    std::uint64_t begin = parts[i].begin;
    for (const Box& box : boxes_of_run(whole, begin, parts[i].end)) {
      BENTO_TRY(use(box, begin, parts[i].time_ns));
      begin += box.elements();
    }
  }
  return {};
}

}  // namespace bento
