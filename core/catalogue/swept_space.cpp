// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/catalogue/swept_space.hpp"

#include <algorithm>
#include <utility>

namespace bento {

void SweptSpace::committed() {
  const std::uint64_t taken = space_.taken_bytes();
  const std::uint64_t more = taken - std::min(taken, counted_);
  counted_ = taken;
  const std::uint64_t replaced = std::min(more, used_ + replaced_);
  replaced_ += replaced;
  used_ += more - replaced;
}

bool SweptSpace::due() const {
  constexpr std::uint64_t kLeastBytes = 256u << 10;
  return held_.empty() && replaced_ > std::max(kLeastBytes, used_);
}

void SweptSpace::sweep(std::vector<CatalogueRange> used, std::uint64_t until) {
  held_ = space_.unused(std::move(used));
  std::uint64_t held_bytes = 0;
  for (const auto& range : held_) held_bytes += range.end - range.begin;
  used_ = space_.end() - space_.free_bytes() - held_bytes;
  replaced_ = counted_ = 0;
  held_until_ = until;
}

void SweptSpace::release(std::uint64_t step) {
  if (!held_.empty() && step >= held_until_) release();
}

void SweptSpace::release() {
  CatalogueSpace more = space_;  // all of it or nothing: no range may be free twice
  more.release(held_);
  space_ = std::move(more);
  held_.clear();
}

}  // namespace bento
