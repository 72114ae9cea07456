// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// How all ranks come to have a container in use: from what rank 0 has made or read.
#include <algorithm>

#include "core/bytes/byte_reader.hpp"
#include "core/bytes/byte_writer.hpp"
#include "core/comm/status_message.hpp"
#include "core/container/container.hpp"
#include "core/container/fill_runs.hpp"
#include "core/container/owner.hpp"
#include "core/steps/segment_codec.hpp"

namespace bento {

Result<std::unique_ptr<Container>> Container::create(const std::string& path, bool exclusive,
                                                     const ContainerOptions& options,
                                                     std::shared_ptr<Communicator> comm) {
  auto container = std::unique_ptr<Container>(new Container(path, true, options, std::move(comm)));
  BENTO_TRY(container->open_boards());
  Result<Bytes> made;
  if (container->owner_) made = container->owner_->create(exclusive);
  auto brought = container->from_owner(made);
  if (!brought) return fail(container->without_boards(fail(std::move(brought).error())).error());
  Bytes blob = std::move(*brought);
  const Status accepted = container->accept_created(blob);
  blob = Bytes();  // what all ranks of a node got is no longer there while they wait for the lock
  Status locked = container->files_.share_lock(*container->comm_, container->node_, accepted);
  if (!locked) return fail(container->without_boards(std::move(locked)).error());
  return container;
}

// What the owner has made or read, on all ranks.
Result<Bytes> Container::from_owner(const Result<Bytes>& brought) {
  ByteWriter out;
  if (owner_) {
    put_status(out, brought ? Status{} : Status(fail(Error(brought.error()))));
    if (brought) out.bytes(*brought);
  }
  BENTO_ASSIGN(Bytes blob, comm_->broadcast(out.view()));
  ByteReader in(blob, std::endian::little, "message of rank 0");
  BENTO_TRY(get_status(in));
  blob.erase(blob.begin(), blob.begin() + static_cast<std::ptrdiff_t>(in.offset()));
  return blob;
}

Status Container::accept_created(std::span<const std::byte> blob) {
  ByteReader in(blob, std::endian::little, "create message");
  BENTO_ASSIGN(state_.identity.first, in.u64());
  BENTO_ASSIGN(state_.identity.second, in.u64());
  BENTO_TRY(accept_names(in));
  BENTO_ASSIGN(const auto sector, in.bytes(kSectorBytes));
  BENTO_ASSIGN(state_.root, decode_root(sector));
  state_.session = state_.root.session;
  BENTO_ASSIGN(state_.plan, ContainerPlan::of(state_.root.groups, state_.root.fs_block));
  accept_rule();
  return {};
}

Result<std::unique_ptr<Container>> Container::open(const std::string& path, bool writable,
                                                   const ContainerOptions& options,
                                                   std::shared_ptr<Communicator> comm) {
  auto container =
      std::unique_ptr<Container>(new Container(path, writable, options, std::move(comm)));
  BENTO_TRY(container->open_boards());
  Result<Bytes> opened;
  if (container->owner_) opened = container->owner_->open();
  auto brought = container->from_owner(opened);
  if (!brought) return fail(container->without_boards(fail(std::move(brought).error())).error());
  Bytes blob = std::move(*brought);
  const Status accepted = container->accept_opened(blob);
  blob = Bytes();
  Status locked = container->files_.share_lock(*container->comm_, container->node_, accepted);
  if (!locked) return fail(container->without_boards(std::move(locked)).error());
  if (container->left_behind_ && writable) BENTO_TRY(container->mark_left_streams());
  return container;
}

void Container::accept_rule() {
  files_.expect_root();
  stream_.set_rules(state_.root.stream_rules());
  reader_.set_rules(state_.root.stream_rules());
}

// Where rank 0 found the files; and where its own name leads, for a rank that sees them elsewhere.
Status Container::accept_names(ByteReader& in) {
  BENTO_ASSIGN(state_.names, ContainerNames::decode(in));
  state_.names.also(absolute_name(state_.path));
  if (!state_.options.other_name.empty()) state_.names.also(state_.options.other_name);
  return {};
}

Status Container::accept_opened(std::span<const std::byte> blob) {
  ByteReader in(blob, std::endian::little, "open message");
  BENTO_ASSIGN(state_.identity.first, in.u64());
  BENTO_ASSIGN(state_.identity.second, in.u64());
  BENTO_TRY(accept_names(in));
  BENTO_ASSIGN(const auto session, in.bytes(state_.session.size()));
  std::copy(session.begin(), session.end(), state_.session.begin());
  BENTO_ASSIGN(const std::uint8_t edited, in.u8());
  view_edited_ = edited != 0;
  if (view_edited_) reader_.distrust();
  BENTO_ASSIGN(const std::uint8_t left_behind, in.u8());
  left_behind_ = left_behind != 0;
  BENTO_ASSIGN(const std::uint8_t undated, in.u8());
  dead_.undated = undated != 0;
  BENTO_ASSIGN(dead_.not_before, in.u64());
  BENTO_ASSIGN(dead_.settled, in.u64());
  BENTO_ASSIGN(dead_.newest, in.u64());
  BENTO_ASSIGN(dead_.oldest, in.u64());
  BENTO_ASSIGN(const auto sector, in.bytes(kSectorBytes));
  BENTO_ASSIGN(state_.root, decode_root(sector));
  BENTO_ASSIGN(state_.plan, ContainerPlan::of(state_.root.groups, state_.root.fs_block));
  layout_fixed_ = true;
  accept_rule();

  if (state_.writable) {
    BENTO_ASSIGN(const std::uint64_t fill_bytes, in.u64());
    BENTO_ASSIGN(const auto fills, in.bytes(fill_bytes));
    if (!owner_) {
      BENTO_ASSIGN(state_.own_fills, decode_own_fills(fills, state_.plan, my_rank(), state_.ranks));
    }
    BENTO_ASSIGN(const auto added, get_groups(in));
    for (const auto& group : added) BENTO_TRY(state_.plan.add(group));
    stream_.become(my_writer());
    stream_.begin_at(state_.root.step);
  }
  BENTO_ASSIGN(const std::uint64_t image_bytes, in.u64());
  BENTO_ASSIGN(const auto image, in.bytes(image_bytes));
  state_.skeleton = PagedImage({image.begin(), image.end()});

  BENTO_ASSIGN(const Segment declared, decode_entries(blob.subspan(blob.size() - in.remaining())));
  for (const auto& dataset : declared.datasets) state_.index.declare(dataset);
  state_.next_dataset = state_.root.next_dataset;
  state_.collective = state_.root.collective;
  note_meeting();
  all_came_ = all_wrote_ = state_.collective;
  return {};
}

}  // namespace bento
