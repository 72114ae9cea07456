// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// One open container in this process: the container itself, the datasets that are diverted into
/// it, and what the application asked for in its file access list. It lives as long as the native
/// library keeps the skeleton open, because the skeleton driver owns it.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>

#include <hdf5.h>

#include "core/config/config.hpp"
#include "core/container/container.hpp"
#include "hdf5/data/decoded_cache.hpp"
#include "hdf5/regions/region_addresses.hpp"
#include "hdf5/regions/region_heap.hpp"
#include "hdf5/skeleton/host.hpp"
#include "vol/file/cached_file.hpp"
#include "vol/file/commit_timer.hpp"
#include "vol/file/deletions.hpp"
#include "vol/file/numbers_by_token.hpp"
#include "vol/file/unflushed_changes.hpp"
#include "vol/mpi/mpi_access.hpp"

namespace bento::vol {

/// Objects of a file with their kinds.
using LinkedObjects = std::unordered_map<TokenBytes, H5O_type_t, TokenHash, SameToken>;

/// Numbers of all datasets by token. A later one may have been given the object address of a
/// deleted one: the larger number holds.
NumbersByToken numbers_of(const Container& container);

/// The page buffer that a file access list asks for.
struct PageBuffer {
  std::size_t bytes = 0;        ///< 0: none
  unsigned least_metadata = 0;  ///< percent of it
  unsigned least_raw = 0;
};

/// What the user's file access list said that the skeleton's cannot show.
struct UserAccess {
  hid_t driver = H5I_INVALID_HID;        ///< driver id: sec2, stdio, log, direct or mpio
  bool parallel = false;                 ///< mpio
  std::shared_ptr<const MpiAccess> mpi;  ///< not null for mpio
  PageBuffer page_buffer;
  /// H5Pset_alignment: for raw data (StreamOptions::whole_datasets), not for the skeleton.
  struct {
    hsize_t threshold = 1;
    hsize_t multiple = 1;
  } alignment;
};

/// With what a file was opened.
struct OpenSettings {
  RequestedConfig requested;  ///< what holds, and what this rank's user named
  std::uint64_t session = 0;  ///< id of this open, equal on all ranks that take part
  bool created = false;       ///< the open was a create
};

/// How the application uses HDF5's interface for a single writer and multiple readers
/// (vol/file/swmr.hpp).
enum class Swmr {
  kNone,
  kReader,  ///< opened with H5F_ACC_SWMR_READ
  kWriter,  ///< opened with H5F_ACC_SWMR_WRITE, or after H5Fstart_swmr_write
};

/// Bits of DatasetDeclaration::flags. Persistent: never renumber.
enum DatasetFlags : std::uint32_t {
  // What the creation list said; the skeleton's says otherwise.
  kUserAllocatedEarly = 1,       ///< H5D_ALLOC_TIME_EARLY
  kUserSparesPartialChunks = 2,  ///< H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS
  // 4 is kVariableElements (core/records/record.hpp).
  kAllocatedByRanks = 8,  ///< natively allocated early, because ranks created it, without filters
};
/// Is all of a dataset with these flags allocated as soon as it has an extent, natively?
inline bool allocated_early(std::uint32_t flags) {
  return (flags & (kUserAllocatedEarly | kAllocatedByRanks)) != 0;
}

class FileContext final : public SkeletonHost {
 public:
  FileContext(std::string name, OpenSettings settings, UserAccess access,
              std::shared_ptr<Communicator> comm, std::unique_ptr<Container> container,
              std::optional<CachedFile> cached = {});
  ~FileContext() override;

  // SkeletonHost
  [[nodiscard]] const std::string& name() const override { return name_; }
  [[nodiscard]] FileIdentity identity() const override {
    FileIdentity identity = identity_;
    identity.inherited = container_->inherited() ? 1 : 0;
    return identity;
  }
  [[nodiscard]] PagedImage& image() override { return container_->skeleton(); }
  [[nodiscard]] bool writable() const override { return container_->writable(); }
  [[nodiscard]] std::uint32_t ranks() const override {
    return static_cast<std::uint32_t>(container_->comm().size());
  }
  [[nodiscard]] int descriptor() const override { return container_->descriptor(); }
  Status finalise() override;
  void note_refused_change(const std::string& text) override { refused_change_ = text; }
  /// Fails, once, if something that the program changed behind a link was not written. For the end
  /// of a flush: what the container holds is committed all the same. Errors: kPermission.
  Status take_refused_change();

  [[nodiscard]] Container& container() { return *container_; }
  /// If it is written or read in a cache: where.
  [[nodiscard]] const std::optional<CachedFile>& cached() const { return cached_; }
  /// Commits, and leaves a native view if the settings say so. What the library has kept of the
  /// file must be in the skeleton. Collective.
  Status commit();
  /// A flush has committed. If the file is in a cache, others look for it there from now on.
  /// Errors: kPermission, kNoSpace, kIo; on rank 0 alone.
  Status note_flushed();
  [[nodiscard]] CommitTimer& timer() { return timer_; }
  [[nodiscard]] UnflushedChanges& unflushed() { return unflushed_; }
  /// What was decoded of the records as they are now.
  [[nodiscard]] DecodedCache& decoded() {
    decoded_.keep_only(container_->content_version());
    return decoded_;
  }
  /// See element_type_of().
  [[nodiscard]] hid_t& last_number() { return last_number_; }
  /// Do references to regions in the program's memory lead to regions()? In files of ranks, and
  /// those that ranks have made; else they lead to the skeleton, as HDF5 has it.
  [[nodiscard]] bool keeps_regions() const { return access_.parallel || places_matter_; }
  [[nodiscard]] RegionHeap& regions() { return regions_; }
  /// The regions that references in the skeleton lead to, as far as this process has written them,
  /// by reference; others are in image().
  using SkeletonReference = std::array<std::byte, kRegionReferenceBytes>;
  [[nodiscard]] std::map<SkeletonReference, std::vector<std::byte>>& written_regions() {
    return written_regions_;
  }
  [[nodiscard]] const Config& config() const { return settings_.requested.config; }
  [[nodiscard]] const OpenSettings& settings() const { return settings_; }
  [[nodiscard]] std::uint64_t session() const { return settings_.session; }
  [[nodiscard]] const UserAccess& access() const { return access_; }
  [[nodiscard]] bool finalised() const { return finalised_; }
  [[nodiscard]] Swmr swmr() const { return swmr_; }
  void set_swmr(Swmr swmr) { swmr_ = swmr; }

  /// Collective without communication; see Container::note_collective.
  void note_collective(std::string_view what, std::string_view detail) {
    unflushed_.add();
    deletions_.add_call();
    container_->note_collective(what, detail);
  }

  /// Declares a new dataset as diverted. `extent_bytes` is its declared size, `unlimited` if it may
  /// grow. Collective without communication.
  DatasetNumber declare(const TokenBytes& token, std::uint64_t element_bytes, std::uint32_t rank,
                        std::uint32_t flags, std::uint64_t extent_bytes, bool unlimited);
  /// A dataset with this token was created whose data stays in the skeleton: if a deleted diverted
  /// one had the same object address, its records are dropped. Collective without communication.
  void undeclare(const TokenBytes& token);
  /// A link was removed, or a reference count lowered: some dataset may be gone. Collective without
  /// communication.
  void note_deletion() {
    maybe_deleted_ = true;
    deletions_.add_deletion();
  }
  /// The diverted dataset with this object token, null if its data is in the skeleton.
  [[nodiscard]] const DatasetDeclaration* find(const TokenBytes& token) const;
  /// H5Dset_extent. Collective without communication.
  Status set_extent(DatasetNumber dataset, const Dims& extent, bool shrinks,
                    std::uint64_t extent_bytes);
  /// What H5Drefresh and its like begin with: a file that is open for reading shows its newest
  /// step. True if that is newer. Collective over the ranks that opened it. Errors: as
  /// Container::refresh().
  Result<bool> refresh();
  /// Grows with every change of any extent: what caches of dimensions are compared with.
  [[nodiscard]] std::uint64_t extent_version() const { return extent_version_; }
  /// What it was when the extent of this dataset changed, or may have changed, last: dimensions
  /// that were asked for since are still right.
  [[nodiscard]] std::uint64_t extent_version(DatasetNumber dataset) const {
    const std::uint64_t* const changed = extent_changed_.find(dataset);
    return changed == nullptr ? all_extents_changed_ : std::max(*changed, all_extents_changed_);
  }
  /// The same of a collective write; see Container::note_collective_write.
  void note_collective_write() {
    unflushed_.add();
    container_->note_collective_write();
  }
  void end_collective_write() { container_->end_collective_write(); }
  /// A collective write to filtered chunks was called, which counts as a write of the dataset
  /// whatever is selected. Collective without communication.
  void note_written_together(DatasetNumber dataset) { written_together_.insert(dataset); }
  [[nodiscard]] bool written_together(DatasetNumber dataset) const {
    return written_together_.contains(dataset);
  }
  /// A change of some extent failed: what it is now has to be asked.
  void note_extent_unknown() { all_extents_changed_ = ++extent_version_; }

 private:
  [[nodiscard]] ViewBuilder view_builder() const;
  void tell_notes();
  void note_declared(DatasetNumber dataset, std::uint64_t bytes);
  void note_place(const TokenBytes& token);
  void note_places();
  void note_all_places();
  Status remove_deleted();
  Result<std::optional<std::set<DatasetNumber>>> unreachable_datasets();
  [[nodiscard]] bool spare_open(const LinkedObjects& linked, std::set<DatasetNumber>& unlinked);
  void forget_removed();
  /// Quoted; empty if no link leads there. Makes no communication.
  [[nodiscard]] std::string path_of(DatasetNumber dataset) const;

  std::string name_;
  OpenSettings settings_;
  CommitTimer timer_;
  UnflushedChanges unflushed_;
  FileIdentity identity_;
  UserAccess access_;
  std::shared_ptr<Communicator> comm_;
  std::unique_ptr<Container> container_;
  std::optional<CachedFile> cached_;
  std::size_t notes_told_ = 0;  ///< of the container's notes
  bool noted_ = false;          ///< others know that it is in the cache
  DecodedCache decoded_;
  hid_t last_number_ = H5I_INVALID_HID;
  RegionAddresses region_addresses_;
  RegionHeap regions_;
  std::map<SkeletonReference, std::vector<std::byte>> written_regions_;
  NumbersByToken numbers_;
  ByNumber<std::uint64_t> declared_;  ///< bytes of this session's datasets, all ranks together
  std::uint64_t declared_total_ = 0;
  std::set<DatasetNumber> written_together_;  ///< in this session
  std::uint64_t extent_version_ = 1;
  std::uint64_t all_extents_changed_ = 1;   ///< extent_version_ then
  ByNumber<std::uint64_t> extent_changed_;  ///< the same of one dataset
  bool finalised_ = false;
  Swmr swmr_ = Swmr::kNone;
  std::string refused_change_;
  bool maybe_deleted_ = false;
  Deletions deletions_;
  std::map<DatasetNumber, TokenBytes> unlinked_;  ///< during a commit
  bool places_matter_ = false;  ///< elements may be references, which are objects' places
};

}  // namespace bento::vol
