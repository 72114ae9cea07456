// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// How all ranks come to have a container in use: from what rank 0 has made or read.
#include <algorithm>

#include <fmt/format.h>

#include "core/bytes/byte_reader.hpp"
#include "core/bytes/byte_writer.hpp"
#include "core/comm/status_message.hpp"
#include "core/container/container.hpp"
#include "core/layout/overflow.hpp"
#include "core/steps/segment_codec.hpp"

namespace bento {

namespace {
constexpr int kOpenAgain = 20;
}  // namespace

Result<std::unique_ptr<Container>> Container::create(const std::string& path, bool exclusive,
                                                     const ContainerOptions& options,
                                                     std::shared_ptr<Communicator> comm) {
  auto container = std::unique_ptr<Container>(new Container(path, true, options, std::move(comm)));
  Status made;
  ByteWriter out;
  if (container->comm_->rank() == 0) {
    made = container->owner_create(exclusive);
    put_status(out, made);
    if (made) {
      out.u64(container->identity_.first);
      out.u64(container->identity_.second);
      container->names_.encode(out);
      out.bytes(encode_root(container->root_));
    }
  }
  BENTO_ASSIGN(const Bytes blob, container->comm_->broadcast(out.view()));
  ByteReader in(blob, std::endian::little, "create message");
  BENTO_TRY(get_status(in));
  BENTO_TRY(
      container->join_writers(container->accept_created(std::span(blob).subspan(in.offset()))));
  return container;
}

Status Container::accept_created(std::span<const std::byte> blob) {
  ByteReader in(blob, std::endian::little, "create message");
  BENTO_ASSIGN(identity_.first, in.u64());
  BENTO_ASSIGN(identity_.second, in.u64());
  BENTO_TRY(accept_names(in));
  BENTO_ASSIGN(const auto sector, in.bytes(kSectorBytes));
  BENTO_ASSIGN(root_, decode_root(sector));
  session_ = root_.session;
  BENTO_ASSIGN(plan_, ContainerPlan::of(root_.groups, root_.fs_block));
  accept_rule();
  return {};
}

Result<std::unique_ptr<Container>> Container::open(const std::string& path, bool writable,
                                                   const ContainerOptions& options,
                                                   std::shared_ptr<Communicator> comm) {
  auto container =
      std::unique_ptr<Container>(new Container(path, writable, options, std::move(comm)));
  ByteWriter out;
  if (container->comm_->rank() == 0) {
    auto opened = container->owner_open();
    // A writer may have gone on, and written over what the root of a moment ago refers to.
    for (int again = 0; !opened && !writable && again < kOpenAgain && container->root_moved();
         ++again)
      opened = container->owner_open();
    if (!opened && opened.error().code == Code::kCorrupt && !writable && container->root_moved())
      opened = fail(Code::kBusy, fmt::format("'{}': its writer commits faster than it can be "
                                             "opened; open it again ({})",
                                             path, opened.error().text));
    put_status(out, opened ? Status{} : Status(fail(opened.error())));
    if (opened) out.bytes(*opened);
  }
  BENTO_ASSIGN(const Bytes blob, container->comm_->broadcast(out.view()));
  ByteReader in(blob, std::endian::little, "open message");
  BENTO_TRY(get_status(in));
  BENTO_TRY(
      container->join_writers(container->accept_opened(std::span(blob).subspan(in.offset()))));
  return container;
}

// Writers whose files are nearly full get new ones; ranks that have no writer get a physical file
// of their own. All ranks come to the same, from the root and the stream table.
Status Container::add_writers() {
  const auto ranks = static_cast<std::uint32_t>(comm_->size());
  if (!writable_) return {};
  if (const auto group = overflow_at_open(plan_, ranks, fills_, root_.step, options_.logical_limit))
    return plan_.add(*group);
  if (ranks <= plan_.ranks()) return {};
  return plan_.add({ranks - plan_.ranks(), 1, plan_.file(0).chunk_bytes, plan_.ranks()});
}

void Container::accept_rule() {
  stream_.set_rule(root_.record_hash());
  reader_.set_rule(root_.record_hash());
}

// Where rank 0 found the files; and where its own name leads, for a rank that sees them elsewhere.
Status Container::accept_names(ByteReader& in) {
  BENTO_ASSIGN(names_, ContainerNames::decode(in));
  names_.also(absolute_name(path_));
  return {};
}

Status Container::accept_opened(std::span<const std::byte> blob) {
  ByteReader in(blob, std::endian::little, "open message");
  BENTO_ASSIGN(identity_.first, in.u64());
  BENTO_ASSIGN(identity_.second, in.u64());
  BENTO_TRY(accept_names(in));
  BENTO_ASSIGN(const auto session, in.bytes(session_.size()));
  std::copy(session.begin(), session.end(), session_.begin());
  BENTO_ASSIGN(const std::uint8_t edited, in.u8());
  view_edited_ = edited != 0;
  if (view_edited_) reader_.distrust();
  BENTO_ASSIGN(const std::uint8_t reuse, in.u8());
  reuse_dead_ = reuse != 0;
  BENTO_ASSIGN(const auto sector, in.bytes(kSectorBytes));
  BENTO_ASSIGN(root_, decode_root(sector));
  BENTO_ASSIGN(plan_, ContainerPlan::of(root_.groups, root_.fs_block));
  rule_ = PartRule(path_, root_);
  layout_fixed_ = true;
  accept_rule();

  BENTO_ASSIGN(const std::uint64_t fill_bytes, in.u64());
  BENTO_ASSIGN(const auto fill_view, in.bytes(fill_bytes));
  if (writable_) {
    BENTO_ASSIGN(fills_, decode_fills(fill_view, plan_.writers(), plan_.largest_chunk()));
    BENTO_TRY(add_writers());
    stream_.become(my_writer());
  }
  BENTO_ASSIGN(const std::uint64_t image_bytes, in.u64());
  BENTO_ASSIGN(const auto image, in.bytes(image_bytes));
  skeleton_ = PagedImage({image.begin(), image.end()});

  BENTO_ASSIGN(const Segment declared, decode_entries(blob.subspan(blob.size() - in.remaining())));
  for (const auto& dataset : declared.datasets) index_.declare(dataset);
  next_dataset_ = root_.next_dataset;
  collective_ = root_.collective;
  return {};
}

}  // namespace bento
