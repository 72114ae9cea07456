// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// A container in use by a group of ranks: create or open, write and find records, commit, close.
/// This is what the connector talks to, and what every rank does; what only rank 0 does is in
/// owner.hpp. "Collective" below means: over the communicator given at create or open.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "core/board/boards.hpp"
#include "core/catalogue/committed_index.hpp"
#include "core/catalogue/paged_image.hpp"
#include "core/comm/communicator.hpp"
#include "core/comm/node_clock.hpp"
#include "core/container/commit_message.hpp"
#include "core/container/container_files.hpp"
#include "core/container/container_options.hpp"
#include "core/container/container_state.hpp"
#include "core/container/latest_meeting.hpp"
#include "core/container/native_view.hpp"
#include "core/container/operation_log.hpp"
#include "core/container/session_failures.hpp"
#include "core/io/private_descriptor.hpp"
#include "core/records/index.hpp"
#include "core/records/member_writes.hpp"
#include "core/steps/step.hpp"
#include "core/stream/record_reader.hpp"
#include "core/stream/stream_liveness.hpp"
#include "core/stream/stream_writer.hpp"

namespace bento {

class Owner;

/// Of elements that have members, what one write brings.
struct WrittenMembers {
  MemberSet members;
  bool partial = false;  ///< some are missing
  /// Container::seen_until() before those were read.
  std::uint64_t seen_ns = 0;
};

class Container {
 public:
  /// Creates physical files with an empty, provisional layout. Collective. Errors, equal on all
  /// ranks: kExists (with `exclusive`, or a neighbour name.%06d that must not be lost), kBusy,
  /// kPermission, kNoSpace, kIo. Nothing was changed then.
  static Result<std::unique_ptr<Container>> create(const std::string& path, bool exclusive,
                                                   const ContainerOptions& options,
                                                   std::shared_ptr<Communicator> comm);
  /// Opens what probe() called a container: rank 0 reads root, skeleton and index and broadcasts
  /// them. Collective. Errors, equal on all ranks: kCorrupt, kUnsupported, kBusy, kNotFound, kIo.
  static Result<std::unique_ptr<Container>> open(const std::string& path, bool writable,
                                                 const ContainerOptions& options,
                                                 std::shared_ptr<Communicator> comm);
  ~Container();

  [[nodiscard]] const std::string& path() const { return state_.path; }
  /// Where its files are, resolved when it was opened.
  [[nodiscard]] const ContainerNames& names() const { return state_.names; }
  [[nodiscard]] bool writable() const { return state_.writable; }
  /// The absolute step that is read: the newest, or the one that was asked for at open.
  [[nodiscard]] AbsoluteStep step() const { return state_.step(); }
  /// The one that was asked for at open, if any.
  [[nodiscard]] const std::optional<AbsoluteStep>& asked_step() const {
    return state_.options.step;
  }
  /// The oldest absolute step that can be opened.
  [[nodiscard]] AbsoluteStep oldest_step() const { return AbsoluteStep(state_.root.oldest); }
  /// What is committed, for questions about steps. Task-local. Errors: kCorrupt, kIo.
  Result<CommittedIndex*> committed();
  [[nodiscard]] Communicator& comm() const { return *comm_; }
  [[nodiscard]] PagedImage& skeleton() { return state_.skeleton; }
  [[nodiscard]] const ContainerPlan& plan() const { return state_.plan; }
  /// All datasets that exist, this session's included; by ascending number.
  [[nodiscard]] std::vector<DatasetDeclaration> datasets() const { return state_.datasets(); }
  /// Null if there is no such dataset. Valid until it is removed.
  [[nodiscard]] const DatasetDeclaration* dataset(DatasetNumber number) const {
    return state_.index.find(number);
  }
  [[nodiscard]] const Root& root() const { return state_.root; }
  /// Device and inode of physical file 0, as rank 0 sees it.
  [[nodiscard]] std::pair<std::uint64_t, std::uint64_t> identity() const { return state_.identity; }
  /// Descriptor of physical file 0; opens it if this rank has not. -1 on failure.
  int descriptor();
  /// Commits of this session in which records of different ranks overlapped at the same collective
  /// count, counted once per dataset: then the time of the writes decided, not the program. Too
  /// high where it would have taken too long to prove that nothing overlapped. On rank 0; elsewhere
  /// 0.
  [[nodiscard]] std::uint64_t unordered_overlaps() const;
  /// Bytes of all records this rank has written in this session.
  [[nodiscard]] std::uint64_t bytes_written() const { return stream_.bytes_written(); }

  /// Counts a collective call and mixes it into the hash that the next commit compares. Collective
  /// without communication: every rank must call it in the same order.
  void note_collective(std::string_view what, std::string_view detail);

  /// Gives a new dataset its number. Collective without communication.
  DatasetNumber declare(const std::array<std::byte, 16>& token, std::uint64_t element_bytes,
                        std::uint32_t rank, std::uint32_t flags);
  /// H5Oincr_refcount was called: from now on no link does not mean deleted. Collective without
  /// communication.
  void note_counted_references() { state_.counted_references = true; }
  [[nodiscard]] bool counted_references() const {
    return state_.counted_references || (state_.root.flags & kRootCountedReferences) != 0;
  }
  /// Drops a dataset's records. Collective without communication.
  void remove(DatasetNumber dataset);
  /// H5Dset_extent: clips what was written so far. Collective without communication.
  Status set_extent(DatasetNumber dataset, const Dims& extent);
  /// The declared bytes of all datasets per rank, after a collective create or set_extent: fixes
  /// the chunk size once they exceed 64 KiB. Collective without communication; an I/O error is kept
  /// for the commit.
  void declared(std::uint64_t bytes_per_rank);

  /// Writes one box of a dataset. Task-local. `data` holds the elements in row-major order; `range`
  /// is kept with minmax only. `written`: for elements that have members, which of them the program
  /// writes; the others are what find() gave. Errors at once on this rank (kNoSpace, kIo, ...), and
  /// again on every rank at the next commit; kNoSpace naming chunk= for an element that no chunk
  /// has room for, which does not count there.
  Status write(DatasetNumber dataset, const Box& box, std::uint64_t element_bytes,
               std::span<const std::byte> data, const ValueRange& range = ValueRange::everything(),
               const WrittenMembers* written = nullptr);
  /// The same of elements that are made while they are written: `data` must not write to this
  /// container, but may read from it. Errors: those of `data`, too, which do not count at the next
  /// commit.
  Status write(DatasetNumber dataset, const Box& box, std::uint64_t element_bytes, ByteSource& data,
               const WrittenMembers* written = nullptr);
  /// The same of the box around a selection: the program writes only `written` of it, and this rank
  /// reads what lies between from itself first (find()). Where other ranks lie in the box, what
  /// lies between does not count. takes_gaps() must have said so. Errors: as write().
  Status write_with_gaps(DatasetNumber dataset, const Box& box, std::uint64_t element_bytes,
                         std::span<const std::byte> data, const RegularSelection& written,
                         const ValueRange& range);
  /// May be, and is likely to be worth it: as far as this rank knows no other rank writes there.
  /// Of a group of more than one rank. Errors: as find().
  Result<bool> takes_gaps(DatasetNumber dataset, const Box& box);
  /// The same for one box whose elements went through the dataset's filters already: `stored` is
  /// kept as it is and never cut. `filter_mask` has a bit for each filter that was skipped. Errors:
  /// as write(); kNoSpace naming chunk= for more than largest_record() bytes.
  Status write_filtered(DatasetNumber dataset, const Box& box, std::uint32_t filter_mask,
                        std::span<const std::byte> stored,
                        const ValueRange& range = ValueRange::everything(),
                        const WrittenMembers* written = nullptr);
  /// The same for one box of a dataset of variable-length elements (kVariableElements), whose
  /// elements are in `stored` as docs/format.md, "Variable-length records", says.
  Status write_variable(DatasetNumber dataset, const Box& box, std::span<const std::byte> stored,
                        const WrittenMembers* written = nullptr);
  /// It would be worth while to say what a reader gets of a dataset where nobody has written: small
  /// pieces with gaps between them may then be stored together. Task-local.
  [[nodiscard]] bool asks_unwritten(DatasetNumber dataset) const {
    return stream_.asks_unwritten(dataset);
  }
  void note_unwritten(DatasetNumber dataset, UnwrittenElements what) {
    stream_.note_unwritten(dataset, std::move(what));
  }
  /// Are whole datasets to be aligned in the file (StreamOptions::whole_datasets)?
  [[nodiscard]] bool aligns() const { return state_.options.stream.whole_datasets.multiple > 1; }
  /// Records of this dataset that have so many bytes are all of it. Task-local.
  void note_whole(DatasetNumber dataset, std::uint64_t bytes) {
    stream_.note_whole(dataset, bytes);
  }
  /// The file address in physical file 0 where one plain record lies that is all of `whole`, as it
  /// is read now; nothing if there is none. What gathers in this rank's memory is written out for
  /// it; that of a single rank fixes the layout. The bytes stay there until the dataset is written
  /// again. Task-local. Errors: as find() and write().
  Result<std::optional<std::uint64_t>> address_of(DatasetNumber dataset, const Box& whole);
  /// Most bytes that a record which cannot be cut may have; before the layout is fixed a number
  /// that holds for any layout it may get. 0 in a container that is open for reading.
  [[nodiscard]] std::uint64_t largest_record() const;
  /// Can data be written out yet, or does everything gather in memory?
  [[nodiscard]] bool layout_fixed() const { return layout_fixed_; }
  /// Apparent size of all physical files: what a record says of its size is held against it.
  /// Task-local. Errors: kNotFound, kIo.
  Result<std::uint64_t> room() { return files_.room(); }
  /// For WrittenMembers::seen_ns: others' writes that are told of by that time are in what is read
  /// from now on. Task-local. Errors: kPeer.
  Result<std::uint64_t> seen_until();
  /// What this rank has written so far is finished: others that share uncommitted data see it from
  /// now on, all at once. Task-local. Errors: kNoSpace (memory).
  Status publish();
  /// MPI's atomic mode: transfers of ranks are seen whole, in one order. Each is between
  /// begin_atomic() and end_atomic(). Errors: kUnsupported (ranks do not share uncommitted data).
  Status set_atomic(bool atomic);
  [[nodiscard]] bool atomic() const { return atomic_; }
  /// Waits for the transfers of other ranks; not if this rank is in one already. Task-local.
  /// Errors: kPeer.
  Status begin_atomic();
  void end_atomic();
  /// Why ranks do not see each other's uncommitted data though the options want it; else empty.
  /// Equal on all ranks.
  [[nodiscard]] const std::string& not_shared_because() const { return not_shared_because_; }
  /// Natively no rank leaves the call that was counted last before all have come to it. So what is
  /// written behind it is later than all that is written before, and nobody who has yet to come
  /// there reads it. Collective without communication.
  void note_meeting() { meeting_.met(state_.collective); }
  /// Counts a collective write, which is a meeting, and its end, which is another one: what a rank
  /// writes behind it is later than what others write in it, whenever they come. publish() follows.
  /// Collective without communication.
  void note_collective_write();
  void end_collective_write();
  /// Waits until the other ranks have come to the last meeting, and, if it was a collective write
  /// and this rank is not in it any more, have written; if they share uncommitted data. What is
  /// looked up begins with this. Task-local. Errors: kPeer (one did not come in time).
  Status await_meeting();
  /// Which records hold `selection`: this rank's own writes, and everybody's up to the last commit
  /// or exchange, and, where they are shared, all that is published. Task-local. Errors: kCorrupt,
  /// kIo.
  Result<RecordLookup> find(DatasetNumber dataset, const Box& selection,
                            Asked asked = Asked::kMaybeAgain);
  /// The record in which all of `selection` is seen, if that is known in memory and nothing of the
  /// dataset has changed since the last commit; else null: find() knows. Valid until the next call.
  [[nodiscard]] const Record* find_one(DatasetNumber dataset, const Box& selection) const {
    if (!committed_known_ || !only_committed(dataset)) return nullptr;
    return committed_.find_one(dataset, selection);
  }
  /// The same at the first question about a dataset, if the step index shows that record at once.
  /// Errors: as find().
  Result<const Record*> find_at_once(DatasetNumber dataset, const Box& selection) {
    if (!only_committed(dataset) || state_.root.index.bytes == 0) return nullptr;
    BENTO_ASSIGN(CommittedIndex* const all, committed());
    return all->find_at_once(dataset, selection);
  }
  /// Reads the part `part` of a record that find() returned into the row-major buffer of `to_box`.
  /// Task-local. Errors: kIo, kCorrupt; kInternal for a filtered record, which only read_stored()
  /// gives out.
  Status read(const Record& record, const Box& part, std::uint64_t element_bytes, const Box& to_box,
              std::byte* to) {
    return read(record, std::span(&part, 1), element_bytes, to_box, to);
  }
  /// The same of several disjoint parts.
  Status read(const Record& record, std::span<const Box> parts, std::uint64_t element_bytes,
              const Box& to_box, std::byte* to);
  /// The bytes of a record as they are stored, held against its hash. Task-local.
  Result<std::vector<std::byte>> read_stored(const Record& record);
  /// From now on everything that has a hash is held against it when it is read, and granules of
  /// large records are; what has none is taken as it is.
  void verify_what_has_hashes() { reader_.distrust(); }
  /// To be called when everything that belongs to one read was found and read, `well` or not:
  /// whether all of it was of this container's step. A writer may have gone on, and used the space
  /// of that step for a newer one, or that of the index through which the step was found. False:
  /// read again. Either nothing was read before, and the container is at the newest step now; or
  /// the read failed, and the step is found through the newest root now, which keeps it. Errors:
  /// kBusy (the step is gone: the file must be opened again; or the writer is too fast).
  /// Task-local.
  Result<bool> confirm_read(bool well = true);
  /// Has confirm_read() failed because the step is gone, and no refresh() come to a newer one
  /// since?
  [[nodiscard]] bool step_is_gone() const { return step_gone_; }
  /// Changes whenever a record that find() gives out may mean other bytes than an equal one before:
  /// at a commit, a refresh, and when confirm_read() says that what was read is not to be trusted.
  /// What is kept of records read before must then be forgotten.
  [[nodiscard]] std::uint64_t content_version() const { return content_version_; }
  /// Is all that this rank can see of the dataset committed?
  [[nodiscard]] bool only_committed(DatasetNumber dataset) const {
    return (!state_.writable || comm_->size() == 1) && state_.index.untouched(dataset);
  }
  /// Goes on to the newest committed step: root, skeleton, datasets and records. Collective. True
  /// if there was a newer one; nothing happens to a container that is open for writing, or as of a
  /// step that was asked for. Errors, equal on all ranks, after which the step is the one before:
  /// kBusy (the file was replaced), kCorrupt, kIo.
  Result<bool> refresh();
  /// Makes everybody's uncommitted records visible to everybody; what a collective read begins
  /// with.
  Status exchange();

  /// Commits everything since the last commit as one step. Collective. Errors are equal on all
  /// ranks and name file, rank and errno; earlier steps stay intact, and a later commit may
  /// succeed.
  /// `view`: with view_at_commits, what plain readers find from now on. `unreachable`: if this rank
  /// has looked for them, the datasets that no link leads to and nobody has open here. Those of
  /// which all ranks say so are removed behind this commit; the next one stores that.
  Status commit(const ViewBuilder& view = {},
                std::optional<std::set<DatasetNumber>> unreachable = {});
  /// Those that the last commit has removed. Equal on all ranks.
  [[nodiscard]] const std::vector<DatasetNumber>& removed() const { return removed_; }
  /// Commits, completes what other readers see (META2, and the native view that `view` builds on
  /// the owner; without one an old native view is switched off) and closes all files. Collective.
  Status close(const ViewBuilder& view = {});
  /// The next close completes what other readers see even if nothing was changed, and marks all
  /// streams anew.
  void complete_again();
  /// From now on each step stays readable for `seconds` after the next one, whatever keep says, up
  /// to RecentSteps::kMost of them. What is overwritten meanwhile takes its space. Task-local; of
  /// effect on rank 0.
  void keep_for(double seconds);
  /// What commit() and close() have to tell the user on rank 0: datasets that the native view does
  /// not show. Grows.
  [[nodiscard]] const std::vector<std::string>& notes() const;
  /// What the user should know of the lock on rank 0, empty if it does all that it can.
  [[nodiscard]] const std::string& lock_warning() const { return files_.lock_warning(); }
  /// Was it opened by another process, of which this one is a forked child? Then it can be read as
  /// it was committed, as long as that step is there, and nothing else.
  [[nodiscard]] bool inherited() const { return home_.elsewhere(); }
  /// Fails in such a child, saying so. Errors: kPermission.
  [[nodiscard]] Status check_home() const;
  /// Did another program change the file through its native view? Asked at open, equal on all
  /// ranks. The committed content is served all the same; opening for writing is refused.
  [[nodiscard]] bool view_edited() const { return view_edited_; }
  /// How errors of a commit call a dataset.
  void set_dataset_names(DatasetNames names);
  /// Closes without committing or communicating: after a failed open, or when MPI is gone.
  void abandon();

 private:
  Container(std::string path, bool writable, ContainerOptions options,
            std::shared_ptr<Communicator> comm);

  // container_open.cpp
  Result<Bytes> from_owner(const Result<Bytes>& brought);
  Status accept_created(std::span<const std::byte> blob);
  Status accept_opened(std::span<const std::byte> blob);
  Status accept_names(ByteReader& in);
  void accept_rule();
  // container.cpp
  Status fix_layout(std::uint64_t declared);
  Status store_layout();
  Status attach();
  /// `element_bytes`: of an element that must lie in one piece; 0 if a caller knows that all fits.
  [[nodiscard]] Status may_write(const Record& record, std::uint64_t element_bytes);
  [[nodiscard]] tl::unexpected<Error> fits_no_chunk(std::string_view what,
                                                    std::uint64_t bytes) const;
  /// This rank has come to one more call of all ranks, and others see that.
  void count_collective();
  /// The same for a call that no rank leaves before all have come to it, here too.
  void count_meeting();
  /// The collective count that what this rank writes to the dataset now is ordered by. Of ranks
  /// that do not see each other's writes, each call of all tells what is later; a rank that is
  /// alone is told by the time.
  [[nodiscard]] std::uint64_t order_count(DatasetNumber dataset) const {
    const bool by_time = boards_ != nullptr || comm_->size() == 1;
    return by_time ? meeting_.of(dataset) : state_.collective;
  }
  Status write_record(Record& record, std::uint64_t element_bytes, ByteSource& data,
                      std::uint64_t bytes, const ValueRange& range, const WrittenMembers* written);
  Status write_uncut(Record record, std::span<const std::byte> stored, const ValueRange& range,
                     const WrittenMembers* written);
  void forget_read_records();
  // container_board.cpp
  Status set_clock();
  Status doubt_clock();
  Status open_boards();
  [[nodiscard]] bool too_many() const;
  [[nodiscard]] std::string too_far_apart() const;
  Result<RankGroups> find_node();
  Result<Boards::Opened> boards_of_ranks(const RankGroups& nodes);
  Status without_boards(Status failed);
  Status order_behind_others();
  /// What this rank has written of members is published.
  Status tell_of_members();
  /// Is the order of writes of different nodes known no better than their clocks are?
  [[nodiscard]] bool clocks_decide() const { return node_.several && boards_ == nullptr; }
  Result<bool> others_wrote(DatasetNumber dataset);
  void learn_layout();
  Result<Lookup> find_uncommitted(DatasetNumber dataset, const Box& selection);
  [[nodiscard]] Record uncommitted_record(DatasetNumber dataset, std::size_t number) const;
  Status catch_up();
  Status read_again(const Record& record, Status failed);
  template <class FromBuffer, class FromFile>
  Status read_of_other(const Record& record, const FromBuffer& from_buffer,
                       const FromFile& from_file);
  // container_gaps.cpp
  Status fill_gaps(const std::set<DatasetNumber>& datasets);
  /// How many elements of a box anybody has written; more where older steps have some there. Of a
  /// rank that is alone. Errors: as find().
  Result<std::uint64_t> count_written(DatasetNumber dataset, const Box& box);
  // container_merge.cpp
  [[nodiscard]] bool merges_small_records() const;
  void merge_small_records();
  /// Does it continue, along a dimension, the box of a record that is seen in front of it?
  Result<bool> follows_another(const Record& newest, unsigned dimension);
  Result<bool> would_be_verified_as_before(const RecordLookup& found,
                                           std::span<const Piece> chosen);
  /// Of the dataset's records the one at `position` and those in front of it become one.
  Status merge_behind(DatasetNumber dataset, std::size_t position);
  // container_home.cpp
  [[nodiscard]] Status check_inherited(DatasetNumber dataset, const Lookup& fresh) const;
  [[nodiscard]] Status check_unwritten(DatasetNumber dataset, const RecordLookup& found) const;
  // container_commit.cpp
  Status commit_impl(bool closing, const ViewBuilder& view);
  Status prepare(bool closing);
  Status sync_mine();
  Result<bool> part_records(const std::set<DatasetNumber>& datasets);
  Result<Bytes> contribution(const Status& mine, const SecondRound& second) const;
  Result<Bytes> contribute(Status& mine, const SecondRound& second);
  Status accept_commit(std::span<const std::byte> message, bool closing);
  Status explain_divergence();
  void follow_plan();
  Status finish_streams(const LivenessPlan& plan, bool changed);
  Status mark_left_streams();
  // container_exchange.cpp: when the parts of records that grew were written
  using TimesByPlace = std::map<Location, WriteTimes>;
  Result<Bytes> exchange_part(const Status& mine) const;
  Result<TimesByPlace> exchange_times(const std::set<DatasetNumber>& datasets);
  Status add_others(const Segment& segment, const TimesByPlace& grown);

  [[nodiscard]] std::uint32_t my_rank() const { return static_cast<std::uint32_t>(comm_->rank()); }
  /// The writer that this rank writes with; of a container that is open for writing.
  [[nodiscard]] std::uint32_t my_writer() const { return state_.plan.writer_of_rank(my_rank()); }

  std::shared_ptr<Communicator> comm_;
  ContainerState state_;
  SessionFailures failures_;
  ContainerFiles files_;
  HomeProcess home_;
  StreamWriter stream_;
  ReadAhead ahead_;
  RecordReader reader_;
  std::unique_ptr<Owner> owner_;  ///< on rank 0 only

  OwnGroup node_;                   ///< of a group of ranks that writes
  std::int64_t clock_base_ns_ = 0;  ///< on rank 0: its time of day, less its steady clock
  ClockOffset clock_;               ///< as of the last measurement, on several nodes
  std::uint64_t clock_doubt_ns_ = 0;
  std::unique_ptr<Boards> boards_;  ///< null: other ranks see what is committed
  std::string not_shared_because_;
  bool atomic_ = false;
  unsigned atomic_depth_ = 0;  ///< a transfer may call the program, which may begin another one
  LatestMeeting meeting_;
  std::uint64_t all_came_ = 0;        ///< count of a meeting that all have come to, for certain
  std::uint64_t all_wrote_ = 0;       ///< the same, and all that they write in it is published
  unsigned in_collective_write_ = 0;  ///< those that have not ended, one in the other
  bool others_moved_ = false;         ///< since confirm_read(): something was not what it was
  unsigned mixtures_ = 0;             ///< in one read: records that were being written anew

  /// Commits of this session that write to a dataset.
  struct SmallCommits {
    unsigned count = 0;
    std::uint64_t newest_of = ~std::uint64_t{0};  ///< sequence of the root before
    std::size_t newest = 0;                       ///< position of the record written last, of that
  };
  ByNumber<SmallCommits> small_commits_;

  std::uint64_t fitting_element_ = 0;  ///< an element of so many bytes fits a chunk
  bool layout_fixed_ = false;
  bool layout_stored_ = true;     ///< META1 says so too, as far as this rank writes it
  bool layout_unsynced_ = false;  ///< this rank has written META1 since its last sync
  DeadSpace dead_;                ///< of earlier sessions
  bool left_behind_ = false;      ///< the session before did not come to its close
  bool view_edited_ = false;

  CommittedIndex committed_;
  bool committed_known_ = false;  ///< committed_ shows the root
  bool step_gone_ = false;
  bool has_read_ = false;  ///< something of this step was given out
  /// Of the reads of files, those that a look at the root has confirmed.
  std::uint64_t reads_confirmed_ = 0;
  std::uint64_t content_version_ = 1;
  /// Of a reader: the step index of a newer root that keeps this step, through which it is read.
  std::optional<CatalogueRef> newer_index_;
  unsigned reads_again_ = 0;  ///< in a row, because a root moved on in the middle of them

  /// A stream of this session that this rank no longer writes: finished at the close.
  struct RetiredStream {
    std::uint32_t writer = 0;
    ChunkFill fill;
    std::vector<Position> orphans;
  };
  std::vector<RetiredStream> retired_;
  /// Of ranks whose records came by exchange(): up to when they were written.
  std::map<std::uint32_t, std::uint64_t> known_until_ns_;
  std::uint64_t exchanges_ = 0;  ///< of this session, equal on all ranks
  /// Of which ranks have written among each other's elements, in this session.
  std::set<DatasetNumber> shared_datasets_;
  MemberWrites member_writes_;  ///< since the last commit; of a group of more than one rank
  OperationLog operations_;
  std::optional<std::set<DatasetNumber>> unreachable_;  ///< during a commit
  std::vector<DatasetNumber> removed_;
};

/// Does `work`, a read that may be done twice, and sees to it that all of it is of one step.
/// Errors: those of `work`, or kBusy (confirm_read()) where a writer went on meanwhile.
template <class Work>
auto read_of_one_step(Container& container, const Work& work) -> decltype(work()) {
  for (;;) {
    auto done = work();
    BENTO_ASSIGN(const bool same_step, container.confirm_read(done.has_value()));
    if (same_step) return done;
  }
}
}  // namespace bento
