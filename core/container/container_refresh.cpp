// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// How a container that is open for reading comes to its newest step.
#include "core/bytes/byte_reader.hpp"
#include "core/bytes/byte_writer.hpp"
#include "core/comm/status_message.hpp"
#include "core/container/container.hpp"
#include "core/steps/segment_codec.hpp"

namespace bento {

Result<bool> Container::refresh() {
  if (writable_ || step_) return false;
  if (comm_->size() > 1) BENTO_TRY(check_home());
  ByteWriter out;
  if (comm_->rank() == 0) {
    auto newer = owner_newer();
    put_status(out, newer ? Status{} : Status(fail(newer.error())));
    if (newer) out.bytes(*newer);
  }
  BENTO_ASSIGN(const Bytes blob, comm_->broadcast(out.view()));
  ByteReader in(blob, std::endian::little, "refresh message");
  BENTO_TRY(get_status(in));
  if (in.remaining() == 0) return false;

  BENTO_ASSIGN(const auto sector, in.bytes(kSectorBytes));
  BENTO_ASSIGN(const Root next, decode_root(sector));
  BENTO_ASSIGN(ContainerPlan plan, ContainerPlan::of(next.groups, next.fs_block));
  BENTO_ASSIGN(const std::uint64_t image_bytes, in.u64());
  BENTO_ASSIGN(const auto image, in.bytes(image_bytes));
  BENTO_ASSIGN(
      const Segment declared,
      decode_entries(std::span<const std::byte>(blob).subspan(blob.size() - in.remaining())));
  follow_root(next);
  plan_ = std::move(plan);
  skeleton_ = PagedImage({image.begin(), image.end()});
  std::set<DatasetNumber> present;
  for (const auto& dataset : declared.datasets) {
    present.insert(dataset.number);
    if (index_.find(dataset.number) == nullptr) index_.declare(dataset);
  }
  for (const auto& dataset : datasets())
    if (!present.contains(dataset.number)) index_.remove(dataset.number);
  next_dataset_ = root_.next_dataset;
  collective_ = root_.collective;
  newer_index_.reset();
  has_read_ = false;
  forget_read_records();
  return true;
}

}  // namespace bento
