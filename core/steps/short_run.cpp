// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/steps/short_run.hpp"

#include "core/bytes/zigzag.hpp"

namespace bento {

bool ShortRun::decode(ByteReader& in, unsigned width) {
  const ByteReader begin = in;
  width_ = width;
  if (take(in)) return true;
  in = begin;
  return false;
}

bool ShortRun::take(ByteReader& in) {
  for (unsigned f = 0; f < width_; ++f) first_[f] = unzigzag(in.next_varint());
  const std::uint64_t differences = in.next_varint();
  if (differences > kMostDifferences) return false;
  for (std::uint64_t i = 0; i < differences; ++i) {
    std::uint64_t* const difference = &differences_[i * width_];
    std::array<std::byte, (kMaxRowWidth + 7) / 8> mask;
    in.next_bytes(std::span(mask).first((width_ + 7) / 8));
    for (unsigned f = 0; f < width_; ++f) {
      const bool there = (std::to_integer<unsigned>(mask[f / 8]) >> (f % 8) & 1u) != 0;
      difference[f] = there ? unzigzag(in.next_varint()) : 0;
    }
  }
  const std::uint64_t tokens = in.next_varint();
  if (tokens > kMostTokens || (differences == 0 && tokens != 0)) return false;
  tokens_ = static_cast<unsigned>(tokens);
  records_ = 1;
  for (unsigned t = 0; t < tokens_; ++t) {
    const std::uint64_t head = in.next_varint();
    const std::uint64_t difference = in.next_varint();
    const std::uint64_t times = head >> 1;
    if ((head & 1) != 0 || times == 0 || times > kMostRecords || difference >= differences)
      return false;
    list_[t] = {static_cast<std::uint32_t>(times), static_cast<std::uint32_t>(difference)};
    records_ += times;
  }
  return records_ <= kMostRecords && in.is_settled();
}

}  // namespace bento
