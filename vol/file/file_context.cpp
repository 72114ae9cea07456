// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "vol/file/file_context.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <tuple>

#include <fmt/format.h>

#include "core/base/guarded.hpp"
#include "core/base/hash.hpp"
#include "core/base/hex.hpp"
#include "core/bytes/byte_writer.hpp"
#include "hdf5/skeleton/open_files.hpp"
#include "hdf5/skeleton/plain_file.hpp"
#include "hdf5/view/view_builder.hpp"
#include "vol/file/dataset_state.hpp"
#include "vol/file/linked_datasets.hpp"
#include "vol/file/object.hpp"
#include "vol/file/spread_cache.hpp"
#include "vol/file/stats.hpp"

namespace bento::vol {

namespace {
/// What an unlimited dataset counts for, per rank.
constexpr std::uint64_t kUnlimitedBytes = 64u << 20;
/// What a dataset counts at most for the size of chunks: more would make no larger chunk.
constexpr std::uint64_t kLargestDeclared = std::uint64_t{1} << 48;

// The device's number is another one on every node, so a rank asks for its own. If the name leads
// it elsewhere, which may be a stale answer of a network file system, rank 0's has to do.
FileIdentity identity_here(const std::string& name, const Container& container,
                           const OpenSettings& settings, bool spread) {
  FileIdentity identity;
  std::tie(identity.device, identity.inode) = container.identity();
  const FileIdentity here = identity_of_name(name.c_str());
  if (here.inode == identity.inode || spread) {
    identity.device = here.device;
    identity.inode = here.inode;
  }
  identity.step = settings.requested.config.step;
  identity.session = settings.session;
  return identity;
}

}  // namespace

FileContext::FileContext(std::string name, OpenSettings settings, UserAccess access,
                         std::shared_ptr<Communicator> comm, std::unique_ptr<Container> container,
                         std::optional<CachedFile> cached)
    : name_(std::move(name)),
      settings_(std::move(settings)),
      timer_(container->writable() ? config().commit : 0),
      unflushed_(container->writable() && access.parallel),
      identity_(identity_here(container->path(), *container, settings_,
                              cached && cached->spread != nullptr)),
      access_(std::move(access)),
      comm_(std::move(comm)),
      container_(std::move(container)),
      cached_(std::move(cached)),
      region_addresses_(comm_->rank()),
      regions_(region_addresses_.first()),
      numbers_(numbers_of(*container_)) {
  container_->set_dataset_names([this](DatasetNumber dataset) { return path_of(dataset); });
  note_places();
}

void FileContext::note_places() {
  for (const auto& dataset : container_->datasets())
    places_matter_ = places_matter_ || (dataset.flags & kVariableElements) != 0;
}

// Asked for the text of an error only: it goes through the whole skeleton.
std::string FileContext::path_of(DatasetNumber dataset) const {
  const auto linked = linked_datasets(name_, container_->skeleton());
  if (!linked) return {};
  for (const auto& [token, path] : *linked)
    if (const auto* const found = numbers_.find(token); found != nullptr && *found == dataset)
      return fmt::format("'{}'", path);
  return {};
}

NumbersByToken numbers_of(const Container& container) {
  NumbersByToken numbers;
  const auto datasets = container.datasets();
  numbers.reserve(datasets.size());
  for (const auto& dataset : datasets) numbers.put(dataset.token, dataset.number);
  return numbers;
}

Result<bool> FileContext::refresh() {
  BENTO_ASSIGN(const bool newer, container_->refresh());
  if (!newer) return false;
  numbers_ = numbers_of(*container_);
  note_places();
  note_extent_unknown();
  skeleton_changed(*this);
  return true;
}

FileContext::~FileContext() {
  if (!finalised_) container_->abandon();
}

namespace {

bool has_no_name(int descriptor) {
  struct stat about{};
  return descriptor >= 0 && ::fstat(descriptor, &about) == 0 && about.st_nlink == 0;
}

}  // namespace

Status FileContext::finalise() {
  finalised_ = true;
  // In a forked child nothing is committed. H5Fclose says so; the library, which may come here from
  // the close of any object and at the exit, does not take an error well.
  if (container_->inherited()) {
    container_->abandon();
    return {};
  }
  if (auto removed = remove_deleted(); !removed)
    fmt::print(stderr, "h5bento: '{}': deleted datasets keep their space: {}\n", name_,
               removed.error().text);
  const bool nameless = writable() && comm_->rank() == 0 && has_no_name(container_->descriptor());
  // Of a spread container the daemon makes the view, when all of it lies in one place.
  const bool view = config().view && !(cached_ && cached_->spread);
  Status closed = container_->close(view ? view_builder() : ViewBuilder{});
  if (nameless)
    fmt::print(stderr,
               "h5bento: warning: '{}' was removed or replaced while it was written: what was "
               "written to it is lost\n",
               name_);
  Stats::get().unordered_overlaps += container_->unordered_overlaps();
  tell_notes();
  if (cached_ && writable()) closed = finish_cached(*cached_, settings_, *comm_, closed);
  BENTO_TRY(std::move(closed));
  return take_refused_change();
}

ViewBuilder FileContext::view_builder() const {
  return [this](ViewJob& job) {
    return build_native_view({config().view_maps, config().view_copy}, job);
  };
}

Status FileContext::commit() {
  std::optional<std::set<DatasetNumber>> unreachable;
  // The other ranks wait in the commit. That it cannot be found out costs space.
  (void)guarded([&]() -> Status {
    BENTO_ASSIGN(unreachable, unreachable_datasets());
    return {};
  });
  Status done = container_->commit(config().view_commits ? view_builder() : ViewBuilder{},
                                   std::move(unreachable));
  forget_removed();
  tell_notes();
  return done;
}

// Each once, and at once: a program that is killed does not come to its close.
void FileContext::tell_notes() {
  const auto& notes = container_->notes();
  for (; notes_told_ < notes.size(); ++notes_told_)
    fmt::print(stderr, "h5bento: '{}': {}\n", name_, notes[notes_told_]);
}

Status FileContext::note_flushed() {
  if (!cached_ || noted_ || comm_->rank() != 0) return {};
  noted_ = true;
  return note_committed(*cached_, settings_);
}

Status FileContext::take_refused_change() {
  if (refused_change_.empty()) return {};
  return fail(Code::kPermission, std::exchange(refused_change_, {}));
}

// The skeleton is complete here, and all objects are closed.
Status FileContext::remove_deleted() {
  if (!maybe_deleted_ || !writable() || container_->counted_references()) return {};
  BENTO_ASSIGN(const auto linked, linked_datasets(name_, container_->skeleton()));
  std::vector<TokenBytes> deleted;
  numbers_.for_each([&](const TokenBytes& token, DatasetNumber number) {
    if (linked.contains(token)) return;
    container_->remove(number);
    deleted.push_back(token);
  });
  for (const TokenBytes& token : deleted) numbers_.erase(token);
  return {};
}

// A program that deletes what is old and flushes would grow for ever if only the close removed it.
// What was deleted can still be used where it is open, on whichever rank: all of them say at the
// commit which datasets they cannot come to any more. Nothing if this is no time to look.
Result<std::optional<std::set<DatasetNumber>>> FileContext::unreachable_datasets() {
  unlinked_.clear();
  if (!writable() || container_->counted_references() || container_->inherited())
    return std::nullopt;
  if (!deletions_.due(numbers_.size(), container_->skeleton().size())) return std::nullopt;
  deletions_.looked(numbers_.size());
  BENTO_ASSIGN(const auto linked, linked_objects(name_, container_->skeleton()));
  deletions_.looked(linked.size());
  std::set<DatasetNumber> unlinked;
  numbers_.for_each([&](const TokenBytes& token, DatasetNumber number) {
    const auto found = linked.find(token);
    if (found != linked.end() && found->second == H5O_TYPE_DATASET) return;
    unlinked_[number] = token;
    unlinked.insert(number);
  });
  if (unlinked.empty())
    deletions_.removed_all();
  else if (!spare_open(linked, unlinked))
    unlinked.clear();
  return unlinked;
}

// False: there may be more of them than can be said. From a group that was deleted while it is open
// a path leads to all that is in it. (An open attribute does not hold its object.)
bool FileContext::spare_open(const LinkedObjects& linked, std::set<DatasetNumber>& unlinked) {
  for (const Object* const object : open_objects()) {
    if (object->type == H5I_FILE || object->under == nullptr) continue;
    const auto identity = identity_of(object);
    if (!identity) return false;
    if (host_of_fileno(identity->fileno).get() != this || linked.contains(identity->token))
      continue;
    if (const auto* const known = numbers_.find(identity->token))
      unlinked.erase(*known);
    else if (object->type == H5I_GROUP)
      return false;
  }
  return true;
}

void FileContext::forget_removed() {
  std::size_t found = 0;
  for (const DatasetNumber dataset : container_->removed()) {
    const auto unlinked = unlinked_.find(dataset);
    if (unlinked == unlinked_.end()) continue;
    ++found;
    written_together_.erase(dataset);
    const auto* const known = numbers_.find(unlinked->second);
    if (known != nullptr && *known == dataset) numbers_.erase(unlinked->second);
  }
  if (!unlinked_.empty() && found == unlinked_.size()) deletions_.removed_all();
  unlinked_.clear();
}

DatasetNumber FileContext::declare(const TokenBytes& token, std::uint64_t element_bytes,
                                   std::uint32_t rank, std::uint32_t flags,
                                   std::uint64_t extent_bytes, bool unlimited) {
  numbers_.reserve(numbers_.size() + 1);  // before anything changes
  if (const auto* const before = numbers_.find(token)) container_->remove(*before);
  const DatasetNumber number = container_->declare(token, element_bytes, rank, flags);
  numbers_.put(token, number);
  if (!places_matter_ && (flags & kVariableElements) != 0) {
    places_matter_ = true;
    note_all_places();
  }
  if (places_matter_) note_place(token);
  const auto ranks = static_cast<std::uint64_t>(container_->comm().size());
  deletions_.add_bytes(extent_bytes / ranks);
  note_declared(number, unlimited ? std::max(extent_bytes, kUnlimitedBytes * ranks) : extent_bytes);
  return number;
}

// A rank that has changed its skeleton by itself puts objects elsewhere from then on: a reference
// that it writes would lead to another object.
void FileContext::note_place(const TokenBytes& token) {
  if (ranks() == 1) return;
  note_collective("place of the new dataset", hex(token));
}

// Of the datasets that are there when places begin to matter, in one number.
void FileContext::note_all_places() {
  if (ranks() == 1) return;
  ByteWriter places;
  for (const auto& dataset : container_->datasets()) {
    places.u32(dataset.number);
    places.bytes(dataset.token);
  }
  note_collective("places of the datasets so far", hex(hash128(places.view())));
}

void FileContext::undeclare(const TokenBytes& token) {
  const auto* const old = numbers_.find(token);
  if (old == nullptr) return;
  container_->remove(*old);
  numbers_.erase(token);
}

const DatasetDeclaration* FileContext::find(const TokenBytes& token) const {
  const auto* const found = numbers_.find(token);
  return found == nullptr ? nullptr : container_->dataset(*found);
}

Status FileContext::set_extent(DatasetNumber dataset, const Dims& extent, bool shrinks,
                               std::uint64_t extent_bytes) {
  extent_changed_[dataset] = ++extent_version_;
  if (shrinks) BENTO_TRY(container_->set_extent(dataset, extent));
  const std::uint64_t* const declared = declared_.find(dataset);
  if (declared == nullptr || *declared < extent_bytes) {
    deletions_.add_bytes((extent_bytes - (declared != nullptr ? *declared : 0)) / ranks());
    note_declared(dataset, extent_bytes);
  }
  return {};
}

void FileContext::note_declared(DatasetNumber dataset, std::uint64_t bytes) {
  bytes = std::min(bytes, kLargestDeclared);
  auto& mine = declared_[dataset];
  declared_total_ += bytes - mine;
  mine = bytes;
  const auto ranks = static_cast<std::uint64_t>(container_->comm().size());
  container_->declared((declared_total_ + ranks - 1) / ranks);
}

}  // namespace bento::vol
