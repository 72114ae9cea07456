// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/container/container.hpp"

#include <array>
#include <cerrno>
#include <map>

#include <fmt/format.h>

#include "core/bytes/byte_reader.hpp"
#include "core/catalogue/sion_view.hpp"
#include "core/container/newest_root.hpp"
#include "core/container/owner.hpp"
#include "core/stream/granule_table.hpp"

namespace bento {

namespace {

constexpr std::uint64_t kStagingBytes =
    64u << 10;  // declared bytes per rank from which on the layout is fixed

}  // namespace

Container::Container(std::string path, bool writable, ContainerOptions options,
                     std::shared_ptr<Communicator> comm)
    : comm_(std::move(comm)),
      state_(std::move(path), writable, std::move(options),
             static_cast<std::uint32_t>(comm_->size())),
      failures_(state_.path),
      files_(state_, failures_),
      stream_(
          state_.index, my_rank(), state_.options.stream, state_.options.logical_limit,
          [this](DatasetNumber dataset, const Box& box) { return count_written(dataset, box); }),
      reader_(
          [this](std::uint32_t writer) -> Result<RecordReader::Source> {
            const ContainerPlan& plan = state_.plan;
            if (writer >= plan.writers())
              return fail(Code::kCorrupt, fmt::format("'{}': a record of writer {}, there are {}",
                                                      state_.path, writer, plan.writers()));
            const std::uint32_t index = plan.file_of(writer);
            if (const auto& spread = state_.options.spread)
              BENTO_TRY(spread->stream_is_here(plan.rank_of_writer(writer)));
            BENTO_ASSIGN(File* const handle, files_.stream_file(index));
            const FilePlan& file = plan.file(index);
            return RecordReader::Source{handle, &file, writer - file.first_writer};
          },
          &stream_, state_.options.verify, ahead_, !writable) {
  if (comm_->rank() == 0) owner_ = std::make_unique<Owner>(state_, files_, failures_, reader_);
  if (comm_->size() > 1) stream_.keep_times();
}

Container::~Container() = default;

int Container::descriptor() {
  auto first = files_.file(0);
  return first ? (*first)->descriptor() : -1;
}

// --- what only the owner has
// --------------------------------------------------------------------------------------

std::uint64_t Container::unordered_overlaps() const {
  return owner_ ? owner_->unordered_overlaps() : 0;
}

void Container::keep_for(double seconds) {
  if (owner_) owner_->keep_for(seconds);
}

void Container::complete_again() {
  if (owner_) owner_->complete_again();
}

const std::vector<std::string>& Container::notes() const {
  static const std::vector<std::string> none;
  return owner_ ? owner_->notes() : none;
}

void Container::set_dataset_names(DatasetNames names) {
  if (owner_) owner_->set_dataset_names(std::move(names));
}

// --- collective bookkeeping without communication
// ---------------------------------------------------------

void Container::count_collective() {
  ++state_.collective;
  if (boards_) boards_->mine().set_collective(state_.collective);
}

void Container::count_meeting() {
  count_collective();
  note_meeting();
  all_came_ = all_wrote_ = state_.collective;
}

void Container::note_collective(std::string_view what, std::string_view detail) {
  count_collective();
  if (boards_) boards_->mine().set_reached(state_.collective);
  operations_.note(what, detail);
}

void Container::note_collective_write() {
  count_collective();
  operations_.note("write", {});
  note_meeting();
  ++in_collective_write_;
}

void Container::end_collective_write() {
  if (--in_collective_write_ != 0) return;
  count_collective();
  note_meeting();
}

DatasetNumber Container::declare(const std::array<std::byte, 16>& token,
                                 std::uint64_t element_bytes, std::uint32_t rank,
                                 std::uint32_t flags) {
  const DatasetDeclaration dataset{state_.next_dataset++, token, element_bytes, rank, flags};
  state_.index.declare(dataset);
  state_.pending.datasets.push_back(dataset);
  return dataset.number;
}

void Container::remove(DatasetNumber dataset) {
  stream_.forget(dataset);
  if (boards_) boards_->others().remove(dataset);
  member_writes_.forget(dataset);
  meeting_.forget(dataset);
  small_commits_.erase(dataset);
  state_.index.remove(dataset);
  state_.pending.deleted.push_back(dataset);
}

Status Container::set_extent(DatasetNumber dataset, const Dims& extent) {
  BENTO_TRY(check_home());
  const ExtentEvent event{dataset, state_.collective, extent};
  BENTO_TRY(state_.index.clip(event));
  if (boards_) BENTO_TRY(boards_->others().clip(event));
  member_writes_.clip(dataset, extent);
  meeting_.shrunk(dataset, state_.collective);
  state_.pending.extents.push_back(event);
  return {};
}

void Container::declared(std::uint64_t bytes_per_rank) {
  if (layout_fixed_ || bytes_per_rank <= kStagingBytes) return;
  auto fixed = fix_layout(bytes_per_rank);
  if (!fixed) failures_.defer(std::move(fixed));
}

Status Container::fix_layout(std::uint64_t declared) {
  state_.plan.set_chunk_bytes(state_.plan.choose_chunk(declared, state_.options.chunk_bytes));
  layout_fixed_ = true;
  fitting_element_ = 0;
  layout_stored_ = false;
  return store_layout();
}

// Tried again, before this rank writes anything and at each commit, until it is in the file: it
// also clears what lies where the first chunk begins.
Status Container::store_layout() {
  if (layout_stored_) return {};
  BENTO_TRY(check_home());
  const auto store = [this](std::uint32_t index) -> Status {
    BENTO_ASSIGN(File* const handle, files_.file(index));
    BENTO_TRY(write_unfinished_sion(*handle, state_.plan, index, state_.path));
    layout_unsynced_ = true;
    return {};
  };
  const std::uint32_t writer = my_writer();
  const std::uint32_t mine = state_.plan.file_of(writer);
  if (state_.options.spread) {
    // What is common is rank 0's, also in files in which it has no stream.
    for (std::uint32_t index = 0; owner_ && index < state_.plan.files(); ++index)
      BENTO_TRY(store(index));
  } else if (state_.plan.file(mine).first_writer == writer) {
    // The first writer of each physical file stores its META1: no one else's bytes lie where it
    // writes.
    BENTO_TRY(store(mine));
  }
  layout_stored_ = true;
  return {};
}

Status Container::attach() {
  if (stream_.attached()) return {};
  BENTO_TRY(check_home());
  BENTO_TRY(store_layout());
  const std::uint32_t writer = my_writer();
  const std::uint32_t index = state_.plan.file_of(writer);
  BENTO_ASSIGN(File* const handle, files_.stream_file(index));
  if (boards_) boards_->mine().set_chunk_bytes(state_.plan.file(index).chunk_bytes);
  const ChunkFill* const known = state_.fill_of(writer);
  ChunkFill fill = known != nullptr ? *known : ChunkFill{};
  return stream_.attach(state_.plan.file(index), state_.plan.local_task(writer), *handle,
                        std::move(fill), dead_);
}

// --- data
// -------------------------------------------------------------------------------------------------

Status Container::write(DatasetNumber dataset, const Box& box, std::uint64_t element_bytes,
                        std::span<const std::byte> data, const ValueRange& range,
                        const WrittenMembers* written) {
  Record record;
  record.dataset = dataset;
  record.box = box;
  SpanSource source(data);
  return write_record(record, element_bytes, source, data.size(), range, written);
}

Status Container::write(DatasetNumber dataset, const Box& box, std::uint64_t element_bytes,
                        ByteSource& data, const WrittenMembers* written) {
  Record record;
  record.dataset = dataset;
  record.box = box;
  return write_record(record, element_bytes, data, box.count.bytes(element_bytes),
                      ValueRange::everything(), written);
}

Status Container::write_filtered(DatasetNumber dataset, const Box& box, std::uint32_t filter_mask,
                                 std::span<const std::byte> stored, const ValueRange& range,
                                 const WrittenMembers* written) {
  Record record;
  record.dataset = dataset;
  record.box = box;
  record.encoding = Encoding::kFiltered;
  record.filter_mask = filter_mask;
  return write_uncut(std::move(record), stored, range, written);
}

Status Container::write_variable(DatasetNumber dataset, const Box& box,
                                 std::span<const std::byte> stored, const WrittenMembers* written) {
  Record record;
  record.dataset = dataset;
  record.box = box;
  record.encoding = Encoding::kVariable;
  return write_uncut(std::move(record), stored, ValueRange::everything(), written);
}

Status Container::write_uncut(Record record, std::span<const std::byte> stored,
                              const ValueRange& range, const WrittenMembers* written) {
  if (state_.writable && stored.size() > largest_record())
    return fits_no_chunk(
        record.encoding == Encoding::kFiltered ? "a filtered piece" : "a variable-length element",
        stored.size());
  SpanSource source(stored);
  return write_record(record, 0, source, stored.size(), range, written);
}

std::uint64_t Container::largest_record() const {
  if (!state_.writable) return 0;  // there may be more ranks than writers
  const std::uint64_t chunk = layout_fixed_
                                  ? state_.plan.file(state_.plan.file_of(my_writer())).chunk_bytes
                                  : state_.plan.choose_chunk(0, state_.options.chunk_bytes);
  const std::uint64_t in_front =
      StreamWriter::bytes_in_front(state_.options.stream, state_.root.stream_rules());
  return chunk > in_front ? chunk - in_front : 0;
}

tl::unexpected<Error> Container::fits_no_chunk(std::string_view what, std::uint64_t bytes) const {
  return fail(Code::kNoSpace,
              fmt::format("'{}': {} of {} bytes fits no chunk, which holds {}; create the file "
                          "with a larger chunk=, or copy one that is there: h5bento defrag "
                          "--settings chunk= (errno = {})",
                          state_.path, what, bytes, largest_record(), EFBIG),
              EFBIG);
}

Status Container::may_write(const Record& record, std::uint64_t element_bytes) {
  if (!state_.writable)
    return fail(Code::kPermission, fmt::format("'{}' is open for reading only", state_.path));
  // Known now and not only at the commit, which would fail with all that was written besides.
  if (element_bytes > fitting_element_) {
    const std::uint64_t hashes = granule_table_bytes(state_.root.stream_rules(), element_bytes);
    if (element_bytes + hashes > largest_record())
      return fits_no_chunk("an element", element_bytes);
    fitting_element_ = element_bytes;
  }
  for (unsigned d = 0; d < record.box.rank(); ++d)
    if (record.box.start[d] + record.box.count[d] > kMostElements)
      return fail(
          Code::kUnsupported,
          fmt::format("'{}': dataset {} is written beyond element {} of dimension {}, where "
                      "the step index ends",
                      state_.path, record.dataset, kMostElements - 1, d));
  return check_home();
}

Status Container::write_record(Record& record, std::uint64_t element_bytes, ByteSource& data,
                               std::uint64_t bytes, const ValueRange& range,
                               const WrittenMembers* written) {
  if (comm_->size() == 1) written = nullptr;  // what the only rank sees is all there is
  BENTO_TRY(may_write(record, element_bytes));
  Status done = order_behind_others();
  if (done && layout_fixed_) done = attach();
  if (done) {
    record.order = {order_count(record.dataset), state_.clock.now_ns(), my_rank()};
    JoinsWith joins = JoinsWith::kAny;
    if (written != nullptr)
      joins = member_writes_.continues(record.dataset, written->members, exchanges_)
                  ? JoinsWith::kLast
                  : JoinsWith::kNone;
    const auto places = stream_.places_to_rewrite(record, bytes);
    if (places.empty()) {
      done = stream_.write(record, element_bytes, data, bytes, range, joins);
    } else {
      const RecordReader::WrittenAnew anew(reader_, places);
      done = stream_.rewrite(record, data, range);
    }
  }
  if (done && written != nullptr)
    member_writes_.add(record, written->members, written->partial, exchanges_, stream_.grew(),
                       boards_ != nullptr
                           ? MemberWrites::Seen{written->seen_ns, boards_->others().learnt()}
                           : MemberWrites::Seen{});
  // Elements that cannot be made are the program's affair, as if they had never been given.
  if (!done && !data.failed()) failures_.defer(done);
  return done;
}

Result<CommittedIndex*> Container::committed() {
  if (!committed_known_) {
    BENTO_ASSIGN(File* const first, files_.file(0));
    // Who writes reads nothing ahead: commits use space of the catalogue again.
    ReadAhead* const ahead = state_.writable ? nullptr : &ahead_;
    if (state_.options.step || newer_index_) {
      BENTO_ASSIGN(committed_, CommittedIndex::open(*first, state_.plan.file(0),
                                                    newer_index_.value_or(state_.root.index),
                                                    step(), ahead, state_.blobs));
    } else {
      BENTO_TRY(
          committed_.move_on(*first, state_.plan.file(0), state_.root.index, ahead, state_.blobs));
    }
    committed_.set_room([this] { return files_.room(); });
    committed_known_ = true;
  }
  return &committed_;
}

// What was written since the last commit is later than all that is committed.
Result<RecordLookup> Container::find(DatasetNumber dataset, const Box& selection, Asked asked) {
  if (!selection.empty() && state_.root.index.bytes != 0 && only_committed(dataset)) {
    BENTO_ASSIGN(CommittedIndex* const all, committed());
    return all->find(dataset, selection, asked);
  }
  RecordLookup out;
  std::vector<Box> open;
  BENTO_ASSIGN(Lookup fresh, find_uncommitted(dataset, selection));
  std::map<std::size_t, std::size_t> place;
  BENTO_TRY(check_inherited(dataset, fresh));
  for (auto& piece : fresh.pieces) {
    const auto [at, added] = place.try_emplace(piece.record, out.records.size());
    if (added) out.records.push_back(uncommitted_record(dataset, piece.record));
    out.pieces.push_back({at->second, std::move(piece.part)});
  }
  open = std::move(fresh.uncovered);
  if (state_.root.index.bytes == 0) {
    out.uncovered = std::move(open);
    BENTO_TRY(check_unwritten(dataset, out));
    return out;
  }
  BENTO_ASSIGN(CommittedIndex* const older, committed());
  const auto clip = state_.index.clip_of(dataset);
  std::map<Location, std::size_t> known;  // what lies under several holes is one record
  for (const Box& box : open) {
    Box inside = box;
    if (clip) {
      inside = intersect(box, Box::whole(*clip));
      subtract(box, inside, out.uncovered);
    }
    if (inside.empty()) continue;
    BENTO_ASSIGN(RecordLookup found, older->find(dataset, inside, asked));
    std::vector<std::size_t> places;
    places.reserve(found.records.size());
    for (Record& record : found.records) {
      const auto [at, added] = known.try_emplace(record.where, out.records.size());
      if (added) out.records.push_back(std::move(record));
      places.push_back(at->second);
    }
    for (auto& piece : found.pieces)
      out.pieces.push_back({places[piece.record], std::move(piece.part)});
    std::move(found.uncovered.begin(), found.uncovered.end(), std::back_inserter(out.uncovered));
  }
  BENTO_TRY(check_unwritten(dataset, out));
  return out;
}

// Who writes holds the lock, so nobody else goes on. A reader asks whether the root is still the
// same: its first slot is what a commit writes first. A container that another program creates in
// its place counts its roots from the beginning again, so the number alone would not tell.
// Bytes that were in memory before this read were confirmed then.
Result<bool> Container::confirm_read(bool well) {
  constexpr unsigned kMostAgain = 100;
  if (state_.writable && !inherited()) {
    if (!others_moved_) mixtures_ = 0;
    return !std::exchange(others_moved_, false);
  }
  const std::uint64_t reads = ahead_.file_reads();
  if (has_read_ && reads == reads_confirmed_) return true;
  BENTO_ASSIGN(File* const first, files_.file(0));
  RootMark mark{};
  BENTO_TRY(first->read_at(state_.plan.file(0).root_address(0) + kRootMarkAt, mark));
  const auto given_out = [this, reads] {
    has_read_ = true;
    reads_confirmed_ = reads;
    reads_again_ = 0;
    return true;
  };
  if (mark == mark_of(state_.root)) return given_out();
  BENTO_ASSIGN(const Probe seen, newest_root(*first, state_.root));
  // A smaller number: an older copy was written over it.
  if (!goes_on_from(seen, state_.root))
    return fail(
        Code::kBusy,
        fmt::format("'{}': the file was replaced while it was read: close all of it, and open it "
                    "again",
                    state_.path));
  if (seen.root.oldest <= step().number()) {
    // All records of the step are in place. The pages of the index that led to them may not be:
    // newer roots have their own copies.
    if (well || seen.root.index == newer_index_.value_or(state_.root.index)) return given_out();
    if (++reads_again_ > kMostAgain)
      return fail(Code::kBusy, fmt::format("'{}': its writer commits faster than step {} can be "
                                           "read; read again, or open the file again",
                                           state_.path, step().number()));
    newer_index_ = seen.root.index;
    forget_read_records();
    return false;
  }
  const bool same_metadata = seen.root.skeleton == state_.root.skeleton;
  if (!has_read_ && same_metadata && !state_.options.step && comm_->size() == 1 &&
      !state_.writable) {
    files_.follow_root(seen.root);
    newer_index_.reset();
    BENTO_ASSIGN(state_.plan, ContainerPlan::of(state_.root.groups, state_.root.fs_block));
    forget_read_records();
    return false;
  }
  forget_read_records();
  step_gone_ = true;
  return fail(Code::kBusy,
              fmt::format("'{}': step {}, as of which it was opened, is gone: its writer has "
                          "committed newer ones and keeps steps {} to {}. Open the file again, "
                          "or let the writer keep more steps (keep=)",
                          state_.path, step().number(), seen.root.oldest, seen.root.step));
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
  (void)files_.close();
}

}  // namespace bento
