// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// A container in use by a group of ranks: create or open, write and find records, commit, close.
/// This is what the connector talks to; layout, stream, index, catalogue and root are parts behind
/// it. "Collective" below means: over the communicator given at create or open.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"
#include "core/bytes/byte_writer.hpp"
#include "core/catalogue/catalogue.hpp"
#include "core/catalogue/catalogue_space.hpp"
#include "core/catalogue/committed_index.hpp"
#include "core/catalogue/paged_image.hpp"
#include "core/comm/communicator.hpp"
#include "core/container/commit_message.hpp"
#include "core/container/container_options.hpp"
#include "core/container/native_view.hpp"
#include "core/container/operation_log.hpp"
#include "core/io/file.hpp"
#include "core/io/file_lock.hpp"
#include "core/io/private_descriptor.hpp"
#include "core/layout/identity.hpp"
#include "core/layout/names.hpp"
#include "core/layout/plan.hpp"
#include "core/layout/root.hpp"
#include "core/records/index.hpp"
#include "core/records/member_writes.hpp"
#include "core/steps/step.hpp"
#include "core/stream/record_reader.hpp"
#include "core/stream/stream_liveness.hpp"
#include "core/stream/stream_writer.hpp"

namespace bento {

/// Of elements that have members, what one write brings.
struct WrittenMembers {
  MemberSet members;
  bool partial = false;  ///< some are missing
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

  [[nodiscard]] const std::string& path() const { return path_; }
  /// Where its files are, resolved when it was opened.
  [[nodiscard]] const ContainerNames& names() const { return names_; }
  [[nodiscard]] bool writable() const { return writable_; }
  /// The absolute step that is read: the newest, or the one that was asked for at open.
  [[nodiscard]] AbsoluteStep step() const { return step_.value_or(AbsoluteStep(root_.step)); }
  /// The one that was asked for at open, if any.
  [[nodiscard]] const std::optional<AbsoluteStep>& asked_step() const { return step_; }
  /// The oldest absolute step that can be opened.
  [[nodiscard]] AbsoluteStep oldest_step() const { return AbsoluteStep(root_.oldest); }
  /// What is committed, for questions about steps. Task-local. Errors: kCorrupt, kIo.
  Result<CommittedIndex*> committed();
  [[nodiscard]] Communicator& comm() { return *comm_; }
  [[nodiscard]] PagedImage& skeleton() { return skeleton_; }
  [[nodiscard]] const ContainerPlan& plan() const { return plan_; }
  /// All datasets that exist, this session's included; by ascending number.
  [[nodiscard]] std::vector<DatasetDeclaration> datasets() const;
  /// Null if there is no such dataset. Valid until it is removed.
  [[nodiscard]] const DatasetDeclaration* dataset(DatasetNumber number) const {
    return index_.find(number);
  }
  [[nodiscard]] const Root& root() const { return root_; }
  /// Device and inode of physical file 0, as rank 0 sees it.
  [[nodiscard]] std::pair<std::uint64_t, std::uint64_t> identity() const { return identity_; }
  /// Descriptor of physical file 0; opens it if this rank has not. -1 on failure.
  int descriptor();
  /// Commits of this session in which records of different ranks overlapped at the same collective
  /// count, counted once per dataset: then the time of the writes decided, not the program. Too
  /// high where it would have taken too long to prove that nothing overlapped. On rank 0; elsewhere
  /// 0.
  [[nodiscard]] std::uint64_t unordered_overlaps() const { return unordered_overlaps_; }
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
  void note_counted_references() { counted_references_ = true; }
  [[nodiscard]] bool counted_references() const {
    return counted_references_ || (root_.flags & kRootCountedReferences) != 0;
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
  /// again on every rank at the next commit.
  Status write(DatasetNumber dataset, const Box& box, std::uint64_t element_bytes,
               std::span<const std::byte> data, const ValueRange& range = ValueRange::everything(),
               const WrittenMembers* written = nullptr);
  /// The same for one box whose elements went through the dataset's filters already: `stored` is
  /// kept as it is and never cut. `filter_mask` has a bit for each filter that was skipped. Errors:
  /// as write(); kNoSpace naming chunk= for more than largest_record() bytes.
  Status write_filtered(DatasetNumber dataset, const Box& box, std::uint32_t filter_mask,
                        std::span<const std::byte> stored,
                        const ValueRange& range = ValueRange::everything(),
                        const WrittenMembers* written = nullptr);
  /// Most bytes that a record which cannot be cut may have; before the layout is fixed a number
  /// that holds for any layout it may get. 0 in a container that is open for reading.
  [[nodiscard]] std::uint64_t largest_record() const;
  /// Can data be written out yet, or does everything gather in memory?
  [[nodiscard]] bool layout_fixed() const { return layout_fixed_; }
  /// Apparent size of all physical files: what a record says of its size is held against it.
  /// Task-local. Errors: kNotFound, kIo.
  Result<std::uint64_t> room();
  /// Which records hold `selection`: this rank's own writes, and everybody's up to the last commit
  /// or exchange. Task-local. Errors: kCorrupt, kIo.
  Result<RecordLookup> find(DatasetNumber dataset, const Box& selection);
  /// Reads the part `part` of a record that find() returned into the row-major buffer of `to_box`.
  /// Task-local. Errors: kIo, kCorrupt; kInternal for a filtered record, which only read_stored()
  /// gives out.
  Status read(const Record& record, const Box& part, std::uint64_t element_bytes, const Box& to_box,
              std::byte* to) {
    return reader_.read(record, element_bytes, part, to_box, to);
  }
  /// The bytes of a record as they are stored, held against its hash. Task-local.
  Result<std::vector<std::byte>> read_stored(const Record& record);
  /// To be called when everything that belongs to one read was found and read, `well` or not:
  /// whether all of it was of this container's step. A writer may have gone on, and used the space
  /// of that step for a newer one, or that of the index through which the step was found. False:
  /// read again. Either nothing was read before, and the container is at the newest step now; or
  /// the read failed, and the step is found through the newest root now, which keeps it. Errors:
  /// kBusy (the step is gone: the file must be opened again; or the writer is too fast).
  /// Task-local.
  Result<bool> confirm_read(bool well = true);
  /// Changes whenever a record that find() gives out may mean other bytes than an equal one before:
  /// at a commit, a refresh, and when confirm_read() says that what was read is not to be trusted.
  /// What is kept of records read before must then be forgotten.
  [[nodiscard]] std::uint64_t content_version() const { return content_version_; }
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
  Status commit();
  /// Commits, completes what other readers see (META2, and the native view that `view` builds on
  /// the owner; without one an old native view is switched off) and closes all files. Collective.
  Status close(const ViewBuilder& view = {});
  /// The next close completes what other readers see even if nothing was changed, and marks all
  /// streams anew.
  void complete_again() {
    complete_again_ = true;
    touched_.assume_all();
  }
  /// What close() has to tell the user on rank 0: datasets that the native view does not show.
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }
  /// What the user should know of the lock on rank 0, empty if it does all that it can.
  [[nodiscard]] const std::string& lock_warning() const { return lock_warning_; }
  /// Was it opened by another process, of which this one is a forked child? Then it can be read as
  /// it was committed, as long as that step is there, and nothing else.
  [[nodiscard]] bool inherited() const { return home_.elsewhere(); }
  /// Fails in such a child, saying so. Errors: kPermission.
  [[nodiscard]] Status check_home() const;
  /// Did another program change the file through its native view? Asked at open, equal on all
  /// ranks. The committed content is served all the same; opening for writing is refused.
  [[nodiscard]] bool view_edited() const { return view_edited_; }
  /// How the owner's errors call a dataset: its path, empty if it has none. Without it: its number.
  using DatasetNames = std::function<std::string(DatasetNumber)>;
  void set_dataset_names(DatasetNames names) { dataset_names_ = std::move(names); }
  /// Closes without committing or communicating: after a failed open, or when MPI is gone.
  void abandon();

 private:
  Container(std::string path, bool writable, ContainerOptions options,
            std::shared_ptr<Communicator> comm);

  Result<File*> file(std::uint32_t index);
  Status check_identity(File& handle, std::uint32_t index);
  void follow_root(const Root& next);
  Status owner_create(bool exclusive);
  Result<std::unique_ptr<File>> owner_claim(bool exclusive, bool& made);
  Status owner_fill(std::unique_ptr<File> first, bool made);
  Result<std::unique_ptr<File>> create_physical(const ContainerPlan& plan, std::uint32_t index,
                                                const std::optional<FileId>& replaced);
  Status begin_physical(File& handle, const ContainerPlan& plan, std::uint32_t index);
  Status check_align(std::uint64_t chunk_bytes) const;
  Status owner_lock(File& first);
  Status leave_to_readers(std::unique_ptr<File>& first, std::size_t old_files);
  Status accept_created(std::span<const std::byte> blob);
  Status join_writers(const Status& mine);
  Status check_inherited(DatasetNumber dataset, const Lookup& fresh);
  Status add_writers();
  Status owner_add_files(const ContainerPlan& plan, std::uint32_t from);
  Result<ContainerPlan> owner_overflow(std::span<const ChunkFill> fills);
  void follow_plan();
  Result<Bytes> owner_open();
  Result<std::unique_ptr<File>> owner_open_first();
  Status owner_begin_session();
  Status accept_names(ByteReader& in);
  bool root_moved();
  Result<Bytes> owner_newer();
  Status accept_opened(std::span<const std::byte> blob);
  void accept_rule();
  Status fix_layout(std::uint64_t declared);
  Status store_layout();
  Status attach();
  Status write_record(Record record, std::uint64_t element_bytes, std::span<const std::byte> data,
                      const ValueRange& range, const WrittenMembers* written);
  Status explain_divergence();
  Status commit_impl(bool closing, const ViewBuilder& view);
  Status prepare(bool closing);
  Status sync_mine();
  Status part_records(const std::set<DatasetNumber>& datasets);
  Result<Bytes> contribution(const Status& mine, const SecondRound& second) const;
  Result<Bytes> contribute(Status& mine, const SecondRound& second);
  ByteWriter owner_answer(const Bytes& merged, bool first_round, bool closing,
                          const ViewBuilder& view);
  Status accept_commit(std::span<const std::byte> message, bool closing);
  Result<SecondRound> owner_ask(const CommitMessage& message) const;
  Status owner_check_members(const CommitMessage& message) const;
  Status owner_commit(const CommitMessage& message, bool closing, const ViewBuilder& view,
                      Root& next);
  Status owner_complete(const ViewBuilder& view, Root& next);
  Result<NativeView> owner_build_view(const ViewBuilder& view, Root& next,
                                      std::vector<CatalogueSpace*>& spaces);
  Status owner_check_names();
  Status owner_skip_view(std::span<const ViewSpace> spaces, Root& next);
  Result<bool> owner_view_edited(File& first);
  Result<bool> owner_view_switched(File& first);
  Result<Bytes> owner_liveness(const Root& next, std::uint64_t most_records = kAnyRecords);
  Result<Bytes> owner_find_space(const CommitMessage& message, const Root& next);
  Status finish_streams(const LivenessPlan& plan, bool changed);
  void give_back();
  Status owner_sweep(File& first);
  Status owner_mirror(File& first);
  Status owner_write_root(File& first, Root& next);
  /// From now on every commit fails with this.
  void give_up(const Status& why);
  /// With durability=power: what was written to this physical file so far is on the device.
  Status make_durable(File& handle);
  Status make_names_durable();
  /// When the parts of records that grew were written.
  using TimesByPlace = std::map<Location, WriteTimes>;
  Result<Bytes> exchange_part(const Status& mine) const;
  Result<TimesByPlace> exchange_times(const std::set<DatasetNumber>& datasets);
  Status add_others(const Segment& segment, const TimesByPlace& grown);
  void forget_read_records();
  [[nodiscard]] std::uint32_t my_rank() const { return static_cast<std::uint32_t>(comm_->rank()); }
  /// The writer that this rank writes with; of a container that is open for writing.
  [[nodiscard]] std::uint32_t my_writer() const { return plan_.writer_of_rank(my_rank()); }
  std::uint64_t now_ns();

  std::string path_;
  bool writable_;
  DatasetNames dataset_names_;
  ContainerOptions options_;
  std::shared_ptr<Communicator> comm_;
  ContainerPlan plan_;
  Root root_;                         ///< last committed, equal on all ranks
  std::optional<AbsoluteStep> step_;  ///< asked for at open
  bool layout_fixed_ = false;
  bool layout_stored_ = true;     ///< META1 says so too, as far as this rank writes it
  bool layout_unsynced_ = false;  ///< this rank has written META1 since its last sync
  std::pair<std::uint64_t, std::uint64_t> identity_{};
  ContainerNames names_;
  SessionId session_{};  ///< of this open, if it writes
  PartRule rule_;        ///< what a reader's files must be
  HomeProcess home_;
  std::unique_ptr<FileLock> lock_;  ///< given back after the files are closed
  std::string lock_warning_;
  std::vector<std::unique_ptr<File>> files_;

  PagedImage skeleton_;
  std::vector<Catalogue::PagePlace> page_places_;  ///< owner
  std::vector<ChunkFill> fills_;                   ///< owner: of all writers, as committed
  TouchedDatasets touched_;                        ///< owner: since the last close
  std::uint64_t unsearched_bytes_ = 0;  ///< owner: new_bytes() since dead records were looked for
  CatalogueSpace space_;                ///< owner
  bool swept_ = false;                  ///< owner: space_ knows its holes
  std::uint64_t catalogue_used_ = 0;    ///< owner: bytes, at the last sweep
  /// Owner: what the last sweep found, and the step from which on nobody can come there any more.
  std::vector<CatalogueRange> held_;
  std::uint64_t held_until_ = 0;
  Root placed_;                      ///< owner: the newest one in slot 0, equal to root_ at rest
  bool mirrored_ = true;             ///< owner: slot 1 holds placed_, too
  std::uint64_t last_sequence_ = 0;  ///< owner: of all roots that it tried to write
  bool reuse_dead_ = false;          ///< at open: containers without content are dead for everybody
  Index index_;  ///< all declarations; records and extents since the last commit only
  CommittedIndex committed_;
  bool committed_known_ = false;  ///< committed_ shows root_
  bool has_read_ = false;         ///< something of this step was given out
  std::uint64_t content_version_ = 1;
  /// Of a reader: the step index of a newer root that keeps this step, through which it is read.
  std::optional<CatalogueRef> newer_index_;
  unsigned reads_again_ = 0;  ///< in a row, because a root moved on in the middle of them
  StreamWriter stream_;
  /// A stream of this session that this rank no longer writes: finished at the close.
  struct RetiredStream {
    std::uint32_t writer = 0;
    ChunkFill fill;
    std::vector<Position> orphans;
  };
  std::vector<RetiredStream> retired_;
  RecordReader reader_;
  std::vector<std::uint64_t>
      known_until_ns_;           ///< per rank: its records up to here came by exchange()
  std::uint64_t exchanges_ = 0;  ///< of this session, equal on all ranks
  MemberWrites member_writes_;   ///< since the last commit; of a group of more than one rank

  Segment pending_;  ///< declarations, deletions, extents since the last commit; no records
  DatasetNumber next_dataset_ = 0;
  std::uint64_t collective_ = 0;
  OperationLog operations_;
  std::uint64_t last_ns_ = 0;
  Status deferred_;  ///< first failure on this rank since the last commit
  Status broken_;    ///< why no commit of this session can succeed any more
  bool view_edited_ = false;
  bool complete_again_ = false;
  bool counted_references_ = false;
  std::vector<std::string> notes_;
  std::uint64_t unordered_overlaps_ = 0;
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
