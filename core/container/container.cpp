// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/container/container.hpp"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "core/base/guarded.hpp"
#include "core/bytes/byte_reader.hpp"
#include "core/catalogue/sion_view.hpp"
#include "core/io/host.hpp"
#include "core/layout/holder.hpp"

namespace bento {

namespace {

constexpr std::uint64_t kStagingBytes =
    64u << 10;  // declared bytes per rank from which on the layout is fixed

}  // namespace

Container::Container(std::string path, bool writable, ContainerOptions options,
                     std::shared_ptr<Communicator> comm)
    : path_(std::move(path)),
      writable_(writable),
      options_(std::move(options)),
      comm_(std::move(comm)),
      step_(options_.step),
      stream_(index_, static_cast<std::uint32_t>(comm_->rank()), options_.stream,
              options_.logical_limit),
      reader_(
          [this](std::uint32_t writer) -> Result<RecordReader::Source> {
            if (writer >= plan_.writers())
              return fail(Code::kCorrupt, fmt::format("'{}': a record of writer {}, there are {}",
                                                      path_, writer, plan_.writers()));
            const std::uint32_t index = plan_.file_of(writer);
            BENTO_ASSIGN(File* const handle, file(index));
            return RecordReader::Source{handle, &plan_.file(index), plan_.local_task(writer)};
          },
          &stream_, options_.verify),
      known_until_ns_(static_cast<std::size_t>(comm_->size()), 0) {
  if (comm_->size() > 1) stream_.keep_times();
}

Container::~Container() = default;

int Container::descriptor() {
  auto first = file(0);
  return first ? (*first)->descriptor() : -1;
}

std::uint64_t Container::now_ns() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto ns =
      static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
  last_ns_ = std::max(ns, last_ns_ + 1);  // strictly growing, also when the clock is set back
  return last_ns_;
}

// --- collective bookkeeping without communication
// ---------------------------------------------------------

void Container::note_collective(std::string_view what, std::string_view detail) {
  ++collective_;
  operations_.note(what, detail);
}

DatasetNumber Container::declare(const std::array<std::byte, 16>& token,
                                 std::uint64_t element_bytes, std::uint32_t rank,
                                 std::uint32_t flags) {
  const DatasetDeclaration dataset{next_dataset_++, token, element_bytes, rank, flags};
  index_.declare(dataset);
  pending_.datasets.push_back(dataset);
  return dataset.number;
}

std::vector<DatasetDeclaration> Container::datasets() const {
  std::vector<DatasetDeclaration> all;
  for (const DatasetNumber number : index_.datasets()) all.push_back(*index_.find(number));
  return all;
}

void Container::remove(DatasetNumber dataset) {
  stream_.forget(dataset);
  member_writes_.forget(dataset);
  index_.remove(dataset);
  pending_.deleted.push_back(dataset);
}

Status Container::set_extent(DatasetNumber dataset, const Dims& extent) {
  BENTO_TRY(check_home());
  const ExtentEvent event{dataset, collective_, extent};
  BENTO_TRY(index_.clip(event));
  member_writes_.clip(dataset, extent);
  pending_.extents.push_back(event);
  return {};
}

void Container::declared(std::uint64_t bytes_per_rank) {
  if (layout_fixed_ || bytes_per_rank <= kStagingBytes) return;
  auto fixed = fix_layout(bytes_per_rank);
  if (!fixed && deferred_) deferred_ = std::move(fixed);
}

Status Container::fix_layout(std::uint64_t declared) {
  plan_.set_chunk_bytes(plan_.choose_chunk(declared, options_.chunk_bytes));
  layout_fixed_ = true;
  layout_stored_ = false;
  return store_layout();
}

// Tried again, before this rank writes anything and at each commit, until it is in the file: it
// also clears what lies where the first chunk begins.
Status Container::store_layout() {
  if (layout_stored_) return {};
  BENTO_TRY(check_home());
  const std::uint32_t writer = my_writer();
  const std::uint32_t index = plan_.file_of(writer);
  // The first writer of each physical file stores its META1: no one else's bytes lie where it
  // writes.
  if (plan_.file(index).first_writer == writer) {
    BENTO_ASSIGN(File* const handle, file(index));
    BENTO_TRY(write_unfinished_sion(*handle, plan_, index, path_));
    layout_unsynced_ = true;
  }
  layout_stored_ = true;
  return {};
}

Status Container::attach() {
  if (stream_.attached()) return {};
  BENTO_TRY(check_home());
  BENTO_TRY(store_layout());
  const std::uint32_t writer = my_writer();
  const std::uint32_t index = plan_.file_of(writer);
  BENTO_ASSIGN(File* const handle, file(index));
  ChunkFill fill = writer < fills_.size() ? fills_[writer] : ChunkFill{};
  return stream_.attach(plan_.file(index), plan_.local_task(writer), *handle, std::move(fill),
                        reuse_dead_);
}

// --- data
// -------------------------------------------------------------------------------------------------

Status Container::write(DatasetNumber dataset, const Box& box, std::uint64_t element_bytes,
                        std::span<const std::byte> data, const ValueRange& range,
                        const WrittenMembers* written) {
  Record record;
  record.dataset = dataset;
  record.box = box;
  return write_record(std::move(record), element_bytes, data, range, written);
}

Status Container::write_filtered(DatasetNumber dataset, const Box& box, std::uint32_t filter_mask,
                                 std::span<const std::byte> stored, const ValueRange& range,
                                 const WrittenMembers* written) {
  // Known now and not only at the commit, while data still gathers in memory.
  if (writable_ && stored.size() > largest_record())
    return fail(Code::kNoSpace,
                fmt::format("'{}': a filtered piece of {} bytes fits no chunk, which holds {}; use "
                            "a larger chunk= (errno = {})",
                            path_, stored.size(), largest_record(), EFBIG),
                EFBIG);
  Record record;
  record.dataset = dataset;
  record.box = box;
  record.encoding = Encoding::kFiltered;
  record.filter_mask = filter_mask;
  return write_record(std::move(record), 0, stored, range, written);
}

std::uint64_t Container::largest_record() const {
  if (!writable_) return 0;  // there may be more ranks than writers
  const std::uint64_t chunk = layout_fixed_ ? plan_.file(plan_.file_of(my_writer())).chunk_bytes
                                            : plan_.choose_chunk(0, options_.chunk_bytes);
  const std::uint64_t in_front = StreamWriter::bytes_in_front(options_.stream);
  return chunk > in_front ? chunk - in_front : 0;
}

Status Container::write_record(Record record, std::uint64_t element_bytes,
                               std::span<const std::byte> data, const ValueRange& range,
                               const WrittenMembers* written) {
  if (comm_->size() == 1) written = nullptr;  // what the only rank sees is all there is
  if (!writable_)
    return fail(Code::kPermission, fmt::format("'{}' is open for reading only", path_));
  for (unsigned d = 0; d < record.box.rank(); ++d)
    if (record.box.start[d] + record.box.count[d] > kMostElements)
      return fail(
          Code::kUnsupported,
          fmt::format("'{}': dataset {} is written beyond element {} of dimension {}, where "
                      "the step index ends",
                      path_, record.dataset, kMostElements - 1, d));
  BENTO_TRY(check_home());
  Status done;
  if (layout_fixed_) done = attach();
  if (done) {
    record.order = {collective_, now_ns(), my_rank()};
    const bool may_grow = written == nullptr ||
                          member_writes_.continues(record.dataset, written->members, exchanges_);
    done = stream_.write(record, element_bytes, data, range, may_grow);
  }
  if (done && written != nullptr)
    member_writes_.add(record, written->members, written->partial, exchanges_, stream_.grew());
  if (!done && deferred_) deferred_ = done;
  return done;
}

Result<CommittedIndex*> Container::committed() {
  if (!committed_known_) {
    BENTO_ASSIGN(File* const first, file(0));
    if (step_ || newer_index_) {
      BENTO_ASSIGN(committed_, CommittedIndex::open(*first, plan_.file(0),
                                                    newer_index_.value_or(root_.index), step()));
    } else {
      BENTO_TRY(committed_.move_on(*first, plan_.file(0), root_.index));
    }
    committed_.set_room([this] { return room(); });
    committed_known_ = true;
  }
  return &committed_;
}

// What was written since the last commit is later than all that is committed.
Result<RecordLookup> Container::find(DatasetNumber dataset, const Box& selection) {
  RecordLookup out;
  std::vector<Box> open;
  BENTO_ASSIGN(Lookup fresh, index_.find(dataset, selection));
  std::map<std::size_t, std::size_t> place;
  if (!fresh.pieces.empty() && inherited()) BENTO_TRY(check_inherited(dataset, fresh));
  for (auto& piece : fresh.pieces) {
    const auto [at, added] = place.try_emplace(piece.record, out.records.size());
    if (added) out.records.push_back(index_.record(dataset, piece.record));
    out.pieces.push_back({at->second, std::move(piece.part)});
  }
  open = std::move(fresh.uncovered);
  if (root_.index.bytes == 0) {
    out.uncovered = std::move(open);
    return out;
  }
  BENTO_ASSIGN(CommittedIndex* const older, committed());
  const auto clip = index_.clip_of(dataset);
  for (const Box& box : open) {
    Box inside = box;
    if (clip) {
      inside = intersect(box, Box::whole(*clip));
      subtract(box, inside, out.uncovered);
    }
    if (inside.empty()) continue;
    BENTO_ASSIGN(RecordLookup found, older->find(dataset, inside));
    const std::size_t before = out.records.size();
    std::move(found.records.begin(), found.records.end(), std::back_inserter(out.records));
    for (auto& piece : found.pieces)
      out.pieces.push_back({before + piece.record, std::move(piece.part)});
    std::move(found.uncovered.begin(), found.uncovered.end(), std::back_inserter(out.uncovered));
  }
  return out;
}

Result<std::vector<std::byte>> Container::read_stored(const Record& record) {
  return reader_.read_stored(record);
}

// Who writes holds the lock, so nobody else goes on. A reader asks whether the root is still the
// same: its first slot is what a commit writes first.
Result<bool> Container::confirm_read(bool well) {
  constexpr unsigned kMostAgain = 100;
  if (writable_ && !inherited()) return true;
  BENTO_ASSIGN(File* const first, file(0));
  std::array<std::byte, 8> bytes{};
  constexpr std::uint64_t kSequenceAt = 16;
  BENTO_TRY(first->read_at(plan_.file(0).root_address(0) + kSequenceAt, bytes));
  ByteReader in(bytes);
  BENTO_ASSIGN(const std::uint64_t sequence, in.u64());
  const auto given_out = [this] {
    has_read_ = true;
    reads_again_ = 0;
    return true;
  };
  if (sequence == root_.sequence) return given_out();
  BENTO_ASSIGN(const Probe seen, probe(*first));
  if (seen.kind != FileKind::kContainer || seen.root.file_id != root_.file_id)
    return fail(Code::kBusy,
                fmt::format("'{}': the file was replaced while it was read; open it again", path_));
  if (seen.root.oldest <= step().number()) {
    // All records of the step are in place. The pages of the index that led to them may not be:
    // newer roots have their own copies.
    if (well || seen.root.index == newer_index_.value_or(root_.index)) return given_out();
    if (++reads_again_ > kMostAgain)
      return fail(Code::kBusy, fmt::format("'{}': its writer commits faster than step {} can be "
                                           "read; read again, or open the file again",
                                           path_, step().number()));
    newer_index_ = seen.root.index;
    forget_read_records();
    return false;
  }
  const bool same_metadata = seen.root.skeleton == root_.skeleton;
  if (!has_read_ && same_metadata && !step_ && comm_->size() == 1 && !writable_) {
    follow_root(seen.root);
    newer_index_.reset();
    BENTO_ASSIGN(plan_, ContainerPlan::of(root_.groups, root_.fs_block));
    forget_read_records();
    return false;
  }
  forget_read_records();
  return fail(Code::kBusy,
              fmt::format("'{}': step {}, as of which it was opened, is gone: its writer has "
                          "committed newer ones and keeps steps {} to {}. Open the file again, "
                          "or let the writer keep more steps (keep=)",
                          path_, step().number(), seen.root.oldest, seen.root.step));
}

// Two sessions may have given records the same order and place, so only what is known of one root
// tells them apart.
void Container::forget_read_records() {
  committed_known_ = false;
  reader_.invalidate();
  ++content_version_;
}

// The holder's note stays: who finds it does not trust what this session left in the streams.
void Container::abandon() {
  for (auto& handle : files_)
    if (handle) (void)handle->close();
  files_.clear();
  lock_.reset();
}

// What a later writer would be told must not outlive the lock. A note that stays, because the file
// is failing, does no harm without it.
void Container::give_back() {
  if (!writable_ || comm_->rank() != 0 || files_.empty() || !files_[0]) return;
  (void)guarded([&] { return clear_holder_note(*files_[0], plan_.file(0)); });
}

}  // namespace bento
