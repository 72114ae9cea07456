// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// How a container that is open for reading comes to its newest step.
#include <set>
#include <utility>

#include "core/bytes/byte_reader.hpp"
#include "core/container/container.hpp"
#include "core/container/owner.hpp"
#include "core/steps/segment_codec.hpp"

namespace bento {

Result<bool> Container::refresh() {
  if (state_.writable || state_.options.step) return false;
  if (comm_->size() > 1) BENTO_TRY(check_home());
  Result<Bytes> newer;
  if (owner_) newer = owner_->newer();
  BENTO_ASSIGN(const Bytes blob, from_owner(newer));
  if (blob.empty()) return false;

  ByteReader in(blob, std::endian::little, "refresh message");
  BENTO_ASSIGN(const auto sector, in.bytes(kSectorBytes));
  BENTO_ASSIGN(const Root next, decode_root(sector));
  BENTO_ASSIGN(ContainerPlan plan, ContainerPlan::of(next.groups, next.fs_block));
  BENTO_ASSIGN(const std::uint64_t image_bytes, in.u64());
  BENTO_ASSIGN(const auto image, in.bytes(image_bytes));
  BENTO_ASSIGN(
      const Segment declared,
      decode_entries(std::span<const std::byte>(blob).subspan(blob.size() - in.remaining())));
  files_.follow_root(next);
  state_.plan = std::move(plan);
  state_.skeleton = PagedImage({image.begin(), image.end()});
  std::set<DatasetNumber> present;
  for (const auto& dataset : declared.datasets) {
    present.insert(dataset.number);
    if (state_.index.find(dataset.number) == nullptr) state_.index.declare(dataset);
  }
  for (const auto& dataset : state_.datasets())
    if (!present.contains(dataset.number)) state_.index.remove(dataset.number);
  state_.next_dataset = state_.root.next_dataset;
  state_.collective = state_.root.collective;
  newer_index_.reset();
  has_read_ = false;
  step_gone_ = false;
  forget_read_records();
  return true;
}

}  // namespace bento
