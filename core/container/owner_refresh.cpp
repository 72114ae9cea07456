// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// What rank 0 reads of a newer step for all ranks.
#include <fmt/format.h>

#include "core/bytes/byte_writer.hpp"
#include "core/container/newest_root.hpp"
#include "core/container/owner.hpp"
#include "core/steps/segment_codec.hpp"

namespace bento {

namespace {

constexpr int kTries = 16;

/// What a reader needs of a step besides its records.
Result<Bytes> read_metadata(File& first, const FilePlan& plan, const Root& root) {
  BENTO_ASSIGN(const CommittedIndex newest, CommittedIndex::open(first, plan, root.index));
  if (newest.empty()) return fail(Code::kCorrupt, "the root names no step index");
  std::vector<Catalogue::PagePlace> places;
  BENTO_ASSIGN(const PagedImage image,
               Catalogue(first, plan).load(root.skeleton, root.skeleton_bytes, places));
  Segment declared;
  BENTO_ASSIGN(declared.datasets, newest.steps().datasets());
  ByteWriter out;
  out.bytes(encode_root(root));
  out.u64(image.size());
  out.bytes(image.bytes());
  out.bytes(encode_entries(declared));
  return std::move(out).take();
}

}  // namespace

// A writer that goes on twice meanwhile may use the space of what is being read.
Result<Bytes> Owner::newer() {
  BENTO_ASSIGN(File* const first, files_.file(0));
  for (int tries = 1;; ++tries) {
    BENTO_ASSIGN(const Probe seen, newest_root(*first, state_.root));
    if (!goes_on_from(seen, state_.root))
      return fail(Code::kBusy,
                  fmt::format("'{}': the file was replaced: close all of it, and open it again",
                              state_.path));
    if (seen.root.sequence == state_.root.sequence) return Bytes{};
    BENTO_ASSIGN(const ContainerPlan plan, ContainerPlan::of(seen.root.groups, seen.root.fs_block));
    auto read = read_metadata(*first, plan.file(0), seen.root);
    if (read) return read;
    BENTO_ASSIGN(const Probe now, probe(*first));
    if (now.root.sequence == seen.root.sequence || tries == kTries)
      return fail(std::move(read).error().with_context(fmt::format("'{}'", state_.path)));
  }
}

}  // namespace bento
