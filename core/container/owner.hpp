// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// The owner's part in an open container: rank 0 makes and reads what all ranks share, decides each
/// commit, and keeps what only that takes. It talks to no other rank: `Container` sends what is
/// returned here, and asks.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "core/bytes/byte_writer.hpp"
#include "core/catalogue/catalogue.hpp"
#include "core/catalogue/swept_space.hpp"
#include "core/comm/communicator.hpp"
#include "core/container/commit_message.hpp"
#include "core/container/container_files.hpp"
#include "core/container/container_state.hpp"
#include "core/container/live_views.hpp"
#include "core/container/native_view.hpp"
#include "core/container/recent_steps.hpp"
#include "core/container/root_slots.hpp"
#include "core/container/session_failures.hpp"
#include "core/stream/record_reader.hpp"
#include "core/stream/stream_liveness.hpp"

namespace bento {

class Owner {
 public:
  /// All must outlive this.
  Owner(ContainerState& state, ContainerFiles& files, SessionFailures& failures,
        RecordReader& reader)
      : state_(state),
        files_(files),
        failures_(failures),
        reader_(reader),
        slots_(state, files, failures),
        live_views_(state.options.view_grace) {}

  /// Makes physical files with an empty, provisional layout. Returns what all ranks take over.
  /// Errors: as Container::create().
  Result<Bytes> create(bool exclusive);
  /// Reads root, skeleton and declarations, and begins a session if the container is open for
  /// writing. Returns what all ranks take over. Errors: as Container::open().
  Result<Bytes> open();
  /// After open() has found that the session before did not come to its close: what all ranks need
  /// to know to mark what is dead; nothing if its space must wait for the next close. Errors:
  /// kCorrupt, kIo.
  Result<Bytes> left_dead();
  /// What all ranks of a reader need to go on with the newest step; nothing if they have it.
  /// Errors: as Container::refresh().
  Result<Bytes> newer();

  /// What all ranks are told in one round of a commit, of which `merged` is what they brought: the
  /// verdict and what follows from it, or what the owner asks them for.
  ByteWriter answer(const Bytes& merged, bool first_round, bool closing, const ViewBuilder& view);
  /// Is the root that all ranks know the newest one? If not, a commit has ended half-way.
  [[nodiscard]] bool at_rest() const { return slots_.newest_is(state_.root); }
  /// All streams are marked: nobody has to do it after this session.
  void give_back();

  /// See Container.
  void complete_again();
  /// See Container::keep_for().
  void keep_for(double seconds) { recent_.keep_for(seconds); }
  void set_dataset_names(DatasetNames names) { dataset_names_ = std::move(names); }
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }
  void count_unordered(std::uint64_t overlaps) { unordered_overlaps_ += overlaps; }
  [[nodiscard]] std::uint64_t unordered_overlaps() const { return unordered_overlaps_; }

 private:
  // owner_create.cpp
  Result<std::unique_ptr<File>> claim(bool exclusive, bool& made);
  Status fill(std::unique_ptr<File> first, bool made);
  Status leave_to_readers(std::unique_ptr<File>& first, std::size_t old_files);
  Result<std::unique_ptr<File>> create_physical(const ContainerPlan& plan, std::uint32_t index,
                                                const std::optional<FileId>& replaced);
  Status begin_physical(File& handle, const ContainerPlan& plan, std::uint32_t index);
  Status add_files(const ContainerPlan& plan, std::uint32_t from);
  [[nodiscard]] Status check_align(std::uint64_t chunk_bytes) const;
  // owner_open.cpp
  Result<Bytes> open_once();
  void put_dead_space(ByteWriter& out, bool left_behind) const;
  Result<std::unique_ptr<File>> open_first();
  Result<Probe> find_root();
  Result<bool> edited_view();
  Status begin_writing(const Probe& seen);
  Status begin_session();
  bool root_moved();
  // owner_commit.cpp
  Status commit(const CommitMessage& message, bool closing, const ViewBuilder& view, Root& next);
  Result<std::vector<ChunkFill>> fills_with(const CommitMessage& message) const;
  Status store_step(Catalogue& catalogue, const CommitMessage& message, Root& next);
  Result<ContainerPlan> overflow(std::span<const ChunkFill> fills);
  // owner_ask.cpp
  Result<SecondRound> ask(const CommitMessage& message) const;
  /// For messages.
  [[nodiscard]] std::string name_of(DatasetNumber dataset) const;
  Status check_members(const CommitMessage& message) const;
  Status note_uncertain_order(const CommitMessage& message);
  // owner_space.cpp
  Result<Bytes> find_space(const CommitMessage& message, const Root& next);
  Result<Bytes> liveness(const Root& next, bool closing, std::uint64_t most_records = kAnyRecords);
  Status sweep(File& first);
  // owner_view.cpp
  Status complete(const ViewBuilder& view, Root& next);
  Status make_whole_length(File& handle, const FilePlan& part, std::span<const ChunkFill> writers);
  /// So that a byte which is nobody's lies behind the last record. No rank may be writing.
  static Status end_behind_records(File& handle, const FilePlan& part,
                                   std::span<const ChunkFill> writers);
  Result<NativeView> build_view(const ViewBuilder& view, Root& next,
                                std::vector<CatalogueSpace*>& spaces);
  Result<NativeView> view_or_note(const ViewBuilder& view, Root& next,
                                  std::vector<CatalogueSpace*>& spaces);
  Status show_view(const NativeView& built, const Superblock& before, const Superblock& after);
  Result<NativeView> guarded_view(const ViewBuilder& view, Root& next,
                                  std::vector<CatalogueSpace*>& spaces);
  Status check_names();
  Status skip_view(std::span<const ViewSpace> spaces, Root& next);
  // owner_earlier_views.cpp
  Status recall_views(File& first, bool edited);
  [[nodiscard]] DeadSpace dead_space(bool left_behind) const;
  [[nodiscard]] bool changed_lately(File& first);
  [[nodiscard]] bool plain_readers();
  void forget_old_views();
  [[nodiscard]] bool makes_live_views() const;
  [[nodiscard]] bool any_live_views() const;
  void pass_views_on(ViewTable& table);
  // owner_live_view.cpp
  Status begin_live_views();
  void note_once(std::string note);
  Result<Bytes> first_view();
  Status show_first_view(const Bytes& empty);
  Result<std::uint64_t> live_length(File& first);
  Result<Superblock> next_view(const ViewBuilder& view, const Superblock& before, Root& next);
  Status keep_from_cut(Root& next);
  Status publish_view(const ViewBuilder& view, Root& next);

  ContainerState& state_;
  ContainerFiles& files_;
  SessionFailures& failures_;
  RecordReader& reader_;
  RootSlots slots_;
  SweptSpace space_;  ///< of the catalogue of physical file 0
  std::vector<Catalogue::PagePlace> page_places_;
  TouchedDatasets touched_;             ///< since the last close
  std::uint64_t unsearched_bytes_ = 0;  ///< new_bytes() since dead records were looked for
  bool complete_again_ = false;
  RecentSteps recent_;
  bool closing_ = false;
  LiveViews live_views_;
  bool old_views_wait_ = false;  ///< sessions before left views that may be open, and are unknown
  LiveViews::Clock::time_point unknown_since_{};  ///< since then there are no new ones of those
  std::uint64_t opened_at_step_ = 0;
  /// Of the native view that stock HDF5 found at the open; 0 if there was none. Nothing if that is
  /// not known.
  std::optional<std::uint64_t> shown_step_;
  std::uint64_t settled_ = 0;  ///< no view of a step before this one may be open
  /// The view that this session's first one has followed.
  std::optional<EarlierView> first_followed_;
  std::optional<EarlierView> replaced_at_close_;  ///< a live view, in a session without such
  LiveViews::Clock::time_point next_question_{};  ///< for locks; not before
  LiveViews::Clock::time_point next_view_{};      ///< not before
  std::uint64_t live_length_ = 0;                 ///< to which a view has made file 0 longer
  bool view_behind_ = false;                      ///< of a commit that came too early for one
  bool told_views_ = false;                       ///< what a commit's view does not show
  std::vector<CatalogueRange> shown_ranges_;      ///< of the view that was built last
  DatasetNames dataset_names_;
  std::vector<std::string> notes_;
  std::uint64_t unordered_overlaps_ = 0;
  std::set<DatasetNumber> uncertain_;  ///< datasets of note_uncertain_order()
};

}  // namespace bento
