// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "hdf5/native/native_file.hpp"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "core/geometry/box_run.hpp"
#include "core/layout/superblock.hpp"
#include "hdf5/base/dropped_references.hpp"
#include "hdf5/base/library_state.hpp"
#include "hdf5/base/quiet_errors.hpp"
#include "hdf5/native/virtual_place.hpp"
#include "hdf5/skeleton/skeleton_copy.hpp"
#include "hdf5/view/open_view.hpp"

namespace bento::vol {

namespace {

// The skeleton is in memory, too, and what the library writes is a little more than that.
constexpr std::uint64_t kMetadataSlack = 256u << 20;
constexpr std::uint64_t kMetadataPerSkeleton = 4;

}  // namespace

NativeFile::NativeFile(std::unique_ptr<Container> container, File* output, AssemblyJournal* journal)
    : container_(std::move(container)),
      records_(*container_),
      store_(output),
      journal_(journal),
      use_(container_->plan()) {
  if (store_ != nullptr) return;
  memory_ = std::make_unique<MemoryStore>(kMetadataSlack +
                                          kMetadataPerSkeleton * container_->skeleton().size());
  store_ = memory_.get();
}

Result<std::unique_ptr<NativeFile>> NativeFile::assemble(std::unique_ptr<Container> container,
                                                         File* output, AssemblyJournal* journal) {
  std::unique_ptr<NativeFile> made(new NativeFile(std::move(container), output, journal));
  // What is copied is held against its hash, so that damage is not handed on as if it were data.
  if (output != nullptr) made->container_->verify_what_has_hashes();
  Status done = made->lay_out();
  // Another version lays it out otherwise.
  if (!done && made->out_.contradicted) done = made->lay_out();
  if (!done) return fail(std::move(done).error());
  return made;
}

Status NativeFile::lay_out() {
  return read_of_one_step(*container_, [this] { return assemble_once(); });
}

// What is in the output and not in the journal may have been meant for other places.
Status NativeFile::prepare_output() {
  // The container may have gone on since it was laid out the last time.
  if (journal_ != nullptr && laid_out_) BENTO_TRY(journal_->forget());
  laid_out_ = true;
  out_ = WrittenOut{&use_, journal_, false};
  if (journal_ == nullptr || !journal_->begun()) return store_->truncate(0);
  if (journal_->plan()) return {};
  const JournalledChunk& last = journal_->chunks().back();
  BENTO_ASSIGN(const std::uint64_t bytes, store_->size());
  if (bytes >= last.address + last.bytes) return store_->truncate(last.address + last.bytes);
  BENTO_TRY(journal_->forget());
  return store_->truncate(0);
}

/// Of where the data lies; the rest is made again whatever happens.
Hash128 NativeFile::plan_hash() const {
  Hasher hasher;
  const auto add = [&hasher](std::uint64_t value) {
    hasher.update(std::as_bytes(std::span(&value, 1)));
  };
  add(bytes_);
  for (const DataExtent& extent : extents_) {
    add(extent.address);
    add(extent.bytes);
    add(extent.chunk);
    add(datasets_[extent.dataset].about->number);
    add(static_cast<std::uint64_t>(extent.content));
  }
  return hasher.digest();
}

Status NativeFile::follow_journal() {
  written_before_ = written_ = 0;
  if (journal_ == nullptr) return {};
  const Hash128 plan = plan_hash();
  if (!journal_->plan()) {
    journal_->set_plan(plan);
    return {};
  }
  BENTO_ASSIGN(const std::uint64_t bytes, store_->size());
  out_.contradicted = *journal_->plan() != plan || bytes != bytes_;
  if (out_.contradicted) return fail(Code::kInternal, "what was written before lies otherwise");
  written_before_ = written_ = journal_->end();
  return {};
}

Status NativeFile::assemble_once() {
  const LibraryState state;
  const QuietErrors quiet;
  const ErrorStackKeeper keep;
  datasets_.clear();
  extents_.clear();
  notes_.clear();
  use_ = SourceUse(container_->plan());
  if (memory_ == nullptr)
    BENTO_TRY(prepare_output());
  else
    BENTO_TRY(store_->truncate(0));  // of a try before this one
  BENTO_ASSIGN(const FileHandle skeleton,
               open_skeleton_copy(container_->path(), container_->skeleton()));
  view_.reset();
  place_ = std::make_unique<VirtualPlace>(*store_);
  VirtualPlace& place = *place_;
  auto made = std::make_unique<OpenView>(place);
  OpenView& open = *made;
  // In memory it may be made again, and must not have other bytes then.
  const ObjectTimes times = memory_ == nullptr ? ObjectTimes::kAsWanted : ObjectTimes::kNone;
  BENTO_TRY(
      open.create(fmt::format("{} as of step {}", container_->path(), container_->step().number()),
                  skeleton.get(), times, LinkTables::kNone, FreedSpace::kUsedAgain));
  NativeDatasets datasets(container_->datasets(), records_, place, open.view(), open.id(), times,
                          memory_ == nullptr ? &out_ : nullptr);
  TreeCopy tree(
      skeleton.get(), open.id(),
      [&datasets](hid_t from, const H5O_token_t& token, hid_t type, const std::string& path) {
        return datasets.make(from, token, type, path);
      },
      [&open] { return open.failure(); }, {});
  tree.set_times(times);
  tree.set_left_out([this](const std::string& name, const std::string& why) {
    notes_.push_back(fmt::format("'{}' is left out: {}", name, why));
  });
  Status copied = tree.run();
  BENTO_TRY(open.failure());
  BENTO_TRY(std::move(copied));
  BENTO_TRY(open.complete());
  view_ = std::move(made);
  bytes_ = place.end();
  if (memory_ != nullptr) BENTO_TRY(write_metadata());
  if (tree.dropped_references() > 0)
    notes_.push_back(about_dropped_references(tree.dropped_references()) + ", and are null");
  datasets_ = std::move(datasets.datasets());
  extents_ = std::move(datasets.extents());
  return follow_journal();
}

// The superblock last: without it, it is no file.
Status NativeFile::write_metadata() {
  BENTO_ASSIGN(Superblock superblock, view_->finish());
  BENTO_TRY(set_end_of_file(superblock, bytes_));
  BENTO_TRY(store_->write_at(0, superblock));
  view_.reset();
  return {};
}

std::vector<std::uint64_t> NativeFile::source_done() const {
  return use_.free_below(written_);
}

std::uint64_t NativeFile::data_bytes() const {
  std::uint64_t bytes = 0;
  for (const DataExtent& extent : extents_) bytes += extent.bytes;
  return bytes;
}

// --- reading -----------------------------------------------------------------------------------

Status NativeFile::read(std::uint64_t offset, std::span<std::byte> into) {
  if (offset > bytes_ || into.size() > bytes_ - offset)
    return fail(Code::kInvalidArgument, "a read behind the end of the assembled file");
  const LibraryState state;
  const QuietErrors quiet;
  const ErrorStackKeeper keep;
  decoded_.keep_only(container_->content_version());
  return read_of_one_step(*container_, [&] { return read_once(offset, into); });
}

Status NativeFile::read_once(std::uint64_t offset, std::span<std::byte> into) {
  const std::uint64_t end = offset + into.size();
  auto extent = std::ranges::upper_bound(extents_, offset, {}, &DataExtent::address);
  if (extent != extents_.begin()) --extent;
  // The store knows nothing of where data lies, and gives zeros there.
  const bool all_data = extent != extents_.end() && extent->address <= offset &&
                        end - extent->address <= extent->bytes;
  if (!all_data) {
    BENTO_ASSIGN(const std::size_t read, store_->read_some(offset, into));
    if (read != into.size()) return fail(Code::kInternal, "metadata of the assembled file is cut");
  }
  for (; extent != extents_.end() && extent->address < end; ++extent) {
    const std::uint64_t from = std::max(offset, extent->address);
    const std::uint64_t to = std::min(end, extent->address + extent->bytes);
    if (from >= to) continue;
    BENTO_TRY(read_extent(*extent, from - extent->address,
                          into.subspan(static_cast<std::size_t>(from - offset),
                                       static_cast<std::size_t>(to - from))));
  }
  return {};
}

Status NativeFile::read_extent(const DataExtent& extent, std::uint64_t skip,
                               std::span<std::byte> into) {
  if (extent.content == DataExtent::Content::kStored) {
    BENTO_ASSIGN(const std::vector<std::byte>* const stored, stored_chunk(extent));
    std::copy_n(stored->begin() + static_cast<std::ptrdiff_t>(skip), into.size(), into.begin());
    return {};
  }
  const LaidOutDataset& dataset = datasets_[extent.dataset];
  return read_run(dataset, dataset.box_of(extent), skip, into);
}

// Elements of a run that are asked for in part, at its ends, go through a buffer of their own.
Status NativeFile::read_run(const LaidOutDataset& dataset, const Box& box, std::uint64_t skip,
                            std::span<std::byte> into) {
  const std::uint64_t element = dataset.about->element_bytes;
  const std::uint64_t first = skip / element;
  const std::uint64_t last = (skip + into.size() + element - 1) / element;
  const bool whole = skip % element == 0 && into.size() % element == 0;
  if (!whole) buffer_.resize(static_cast<std::size_t>((last - first) * element));
  std::byte* to = whole ? into.data() : buffer_.data();
  for (const Box& part : boxes_of_run(box, first, last)) {
    BENTO_TRY(read_elements(records_, *dataset.about, part, to, decoded_));
    to += part.elements() * element;
  }
  if (!whole) std::memcpy(into.data(), buffer_.data() + skip % element, into.size());
  return {};
}

Result<const std::vector<std::byte>*> NativeFile::stored_chunk(const DataExtent& extent) {
  if (stored_at_ == extent.address) return &stored_;
  const LaidOutDataset& dataset = datasets_[extent.dataset];
  stored_at_ = 0;
  BENTO_ASSIGN(const RecordLookup seen,
               records_.find(dataset.about->number, dataset.box_of(extent)));
  if (seen.records.size() != 1 || seen.records[0].stored_bytes != extent.bytes)
    return fail(Code::kCorrupt, fmt::format("'{}': the index no longer says what it said of '{}'",
                                            container_->path(), dataset.about->path));
  BENTO_ASSIGN(stored_, records_.read_stored(seen.records[0]));
  stored_at_ = extent.address;
  return &stored_;
}

// --- writing -----------------------------------------------------------------------------------

namespace {

constexpr std::uint64_t kPartBytes = 4u << 20;  // one is written while the next one is read
constexpr std::size_t kHoleBytes = 64u << 10;
// What was written is known in steps of this size.
constexpr std::size_t kStepBytes = 256u << 10;

bool is_zero(std::span<const std::byte> bytes) {
  return bytes.empty() || (bytes[0] == std::byte{0} &&
                           std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0);
}

}  // namespace

// In the thread that writes.
Status NativeFile::put(const WriteBehind::Part& part, const Progress& progress) {
  const std::span<const std::byte> bytes = part.bytes;
  std::size_t begin = 0;  // of what is to be written
  if (part.address < written_before_)
    begin = static_cast<std::size_t>(
        std::min<std::uint64_t>(written_before_ - part.address, bytes.size()));
  std::size_t at = begin;
  while (at < bytes.size()) {
    const std::size_t count = std::min(kHoleBytes, bytes.size() - at);
    const bool zero = is_zero(bytes.subspan(at, count));
    if (begin < at && (zero || at - begin >= kStepBytes)) {
      BENTO_TRY(store_->write_at(part.address + begin, bytes.subspan(begin, at - begin)));
      begin = at;
      reached(part.address + at);
    }
    at += count;
    if (zero) begin = at;
  }
  if (begin < at) BENTO_TRY(store_->write_at(part.address + begin, bytes.subspan(begin)));
  reached(part.end);
  progress(part.counted);
  return {};
}

Status NativeFile::write_data(const Progress& progress) {
  const LibraryState state;
  const QuietErrors quiet;
  const ErrorStackKeeper keep;
  // Whoever finds another length knows that this is not the file that was written.
  BENTO_TRY(store_->truncate(bytes_));
  WriteBehind writer([&](const WriteBehind::Part& part) { return put(part, progress); });
  for (const DataExtent& extent : extents_) BENTO_TRY(write_extent(extent, writer));
  BENTO_TRY(writer.finish());
  if (journal_ != nullptr) {
    BENTO_TRY(store_->sync());
    BENTO_TRY(journal_->store());
  }
  return write_metadata();
}

// Addresses ascend, within an extent, too.
void NativeFile::reached(std::uint64_t address) {
  written_ = std::max(written_, address);
  if (journal_ != nullptr) journal_->set_end(address);
}

Status NativeFile::write_extent(const DataExtent& extent, WriteBehind& writer) {
  const std::uint64_t end = extent.address + extent.bytes;
  if (end <= written_before_ || extent.content == DataExtent::Content::kWritten)
    return writer.give({end, {}, end, extent.bytes});
  if (extent.content == DataExtent::Content::kStored) {
    BENTO_TRY(read_of_one_step(*container_, [&]() -> Status {
      BENTO_TRY(stored_chunk(extent));
      return {};
    }));
    stored_at_ = 0;  // it is given away
    return writer.give({extent.address, std::move(stored_), end, extent.bytes});
  }
  const Box box = datasets_[extent.dataset].box_of(extent);
  return write_part(extent, box, box, writer);
}

// Halved until it is small. What nobody wrote is not gone through piece by piece if it is zeros: a
// dataset may be declared a thousand times larger than its file.
Status NativeFile::write_part(const DataExtent& extent, const Box& whole, const Box& part,
                              WriteBehind& writer) {
  const DivertedDataset& about = *datasets_[extent.dataset].about;
  const std::uint64_t bytes = part.elements() * about.element_bytes;
  const std::uint64_t address =
      extent.address + row_major_offset(whole, part) * about.element_bytes;
  const std::uint64_t end = address + bytes;
  if (end <= written_before_) return writer.give({address, {}, end, bytes});
  const bool small = bytes <= kPartBytes || part.elements() <= 1;
  bool nothing = false;
  if (!small && is_zero(about.fill)) {
    const Box inside = intersect(part, Box::whole(about.extent));
    nothing = inside.empty();
    if (!nothing) {
      BENTO_ASSIGN(const RecordLookup seen, read_of_one_step(*container_, [&] {
                     return records_.find(about.number, inside);
                   }));
      nothing = seen.records.empty();
    }
  }
  if (nothing) return writer.give({address, {}, end, bytes});
  if (!small)
    return for_each_part(part, part.elements() / 2,
                         [&](const Box& half) { return write_part(extent, whole, half, writer); });
  auto buffer = writer.buffer(static_cast<std::size_t>(bytes));
  decoded_.keep_only(container_->content_version());
  BENTO_TRY(read_of_one_step(
      *container_, [&] { return read_elements(records_, about, part, buffer.data(), decoded_); }));
  return writer.give({address, std::move(buffer), end, bytes});
}

}  // namespace bento::vol
