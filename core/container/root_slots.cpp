// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/container/root_slots.hpp"

#include <array>
#include <utility>

namespace bento {

void RootSlots::hold(const Root& root) {
  placed_ = root;
  mirrored_ = true;
  last_sequence_ = root.sequence;
}

// The last root may lie in the first slot only. Before anything else changes it gets into the other
// one, too: what only the root there refers to is free after that.
Status RootSlots::mirror(File& first) {
  if (mirrored_) return {};
  BENTO_TRY(first.write_at(state_->plan.file(0).root_address(1), encode_root(placed_)));
  mirrored_ = true;
  return {};
}

// First one slot, then the other: a torn one is covered by the other, and when both are done no
// slot refers to an older step any more, whose space is then free. A root counts from the moment on
// when it is in the first slot, because readers see it. That the second could not be written costs
// nothing but space: the next commit begins with it.
Status RootSlots::write(File& first, Root& next) {
  BENTO_TRY(mirror(first));
  BENTO_TRY(files_->make_durable(first));
  // Never again the number of a root of which somebody may have seen something.
  next.sequence = ++last_sequence_;
  next.session = state_->session;
  Root placed = next;
  const auto sector = encode_root(next);
  const std::uint64_t address = state_->plan.file(0).root_address(0);
  auto written = first.write_at(address, sector);
  if (!written) {
    std::array<std::byte, kSectorBytes> found{};
    const auto read = first.read_at(address, found);
    if (!read) failures_->give_up(fail(written.error()));  // nobody knows which root is in force
    if (!read || found != sector) return written;
  }
  mirrored_ = false;
  placed_ = std::move(placed);
  BENTO_TRY(files_->make_durable(first));
  mirrored_ = first.write_at(state_->plan.file(0).root_address(1), sector).has_value();
  return {};
}

}  // namespace bento
