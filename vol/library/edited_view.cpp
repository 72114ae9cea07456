// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "vol/library/edited_view.hpp"

#include <cerrno>
#include <cstdio>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "core/container/container.hpp"
#include "core/io/host.hpp"
#include "core/io/permissions.hpp"
#include "core/io/posix_file.hpp"
#include "core/joined/joined_report.hpp"
#include "core/layout/names.hpp"
#include "core/layout/replace.hpp"
#include "core/offline/survey.hpp"
#include "hdf5/base/create_unnamed.hpp"
#include "hdf5/base/dropped_references.hpp"
#include "hdf5/base/error_bridge.hpp"
#include "hdf5/base/holds_references.hpp"
#include "hdf5/base/library_text.hpp"
#include "hdf5/base/quiet_errors.hpp"
#include "hdf5/joined/joined_view.hpp"
#include "hdf5/view/group_properties.hpp"
#include "hdf5/view/source_files.hpp"
#include "hdf5/view/tree_copy.hpp"
#include "hdf5/view/view_builder.hpp"
#include "vol/library/bento_list.hpp"

namespace bento::vol {

namespace {

Result<std::vector<std::string>> complete_again(Container& container,
                                                const ViewSettings& settings) {
  container.complete_again();
  BENTO_TRY(
      container.close([&settings](ViewJob& job) { return build_native_view(settings, job); }));
  return container.notes();
}

Result<std::unique_ptr<Container>> open_to_write(const std::string& path, bool drop,
                                                 MissingView missing = MissingView::kNoted) {
  ContainerOptions options;
  options.drop_edited_view = drop;
  options.view_required = missing == MissingView::kFails;
  return Container::open(path, true, options, make_self_communicator());
}

/// To wait for processes that join or leave a container of the driver.
constexpr double kGateSeconds = 300;

bool maps_to_our_sources(hid_t dcpl) {
  std::size_t count = 0;
  if (H5Pget_layout(dcpl) != H5D_VIRTUAL || H5Pget_virtual_count(dcpl, &count) < 0 || count == 0)
    return false;
  const auto name = library_text(
      [&](char* room, std::size_t bytes) { return H5Pget_virtual_dsetname(dcpl, 0, room, bytes); });
  return name && name->starts_with(fmt::format("/{}/", kViewGroup));
}

/// Creation list of the committed dataset of this path; else one that can hold the dataset.
PlistHandle creation_list(hid_t committed, const std::string& path, hid_t from, hid_t space) {
  const int rank = H5Sget_simple_extent_ndims(space);
  DatasetHandle old;
  H5E_BEGIN_TRY {
    old = DatasetHandle(H5Dopen2(committed, path.c_str(), H5P_DEFAULT));
  }
  H5E_END_TRY
  if (old.valid()) {
    const SpaceHandle old_space(H5Dget_space(old.get()));
    if (H5Sget_simple_extent_ndims(old_space.get()) == rank)
      return PlistHandle(H5Dget_create_plist(old.get()));
  }
  PlistHandle list(H5Dget_create_plist(from));
  if (H5Pget_layout(list.get()) != H5D_VIRTUAL) return list;
  std::vector<hsize_t> dims(static_cast<std::size_t>(rank > 0 ? rank : 0));
  std::vector<hsize_t> limit(dims.size());
  H5Sget_simple_extent_dims(space, dims.data(), limit.data());
  H5Pset_layout(list.get(), H5D_CONTIGUOUS);
  if (dims != limit) {
    constexpr hsize_t kEdge = 64;
    for (auto& edge : dims) edge = kEdge;
    H5Pset_chunk(list.get(), rank, dims.data());
  }
  return list;
}

/// Into `fresh`, an empty file.
class TakenOver {
 public:
  TakenOver(std::string path, std::string fresh, TakeOver how)
      : path_(std::move(path)), fresh_(std::move(fresh)), how_(how) {}

  /// `keys`: of the new container.
  Status copy(const std::string& keys) {
    BENTO_TRY(open(keys));
    BENTO_TRY(look_for_lost_references());
    TreeCopy tree(
        from_.get(), to_.get(),
        [this](hid_t dataset, const H5O_token_t&, hid_t type, const std::string& name) {
          return make(dataset, type, name);
        },
        [] { return Status{}; }, kViewGroup);
    tree.set_bring_absent(
        [this](const H5O_token_t* object, hid_t group, const char* name, hid_t lcpl,
               const std::string& link) { return bring(object, group, name, lcpl, link); });
    BENTO_TRY(tree.run());
    if (tree.dropped_references() > 0)
      given_up_.push_back(about_dropped_references(tree.dropped_references()) +
                          ", and are null now");
    if (H5Fclose(to_.release()) < 0)
      return fail(Code::kIo, fmt::format("'{}' cannot be completed", fresh_));
    return {};
  }
  [[nodiscard]] std::vector<std::string>& given_up() { return given_up_; }

 private:
  Status open(const std::string& keys) {
    BENTO_ASSIGN(const PlistHandle reading, bento_list());
    BENTO_ASSIGN(const PlistHandle writing, bento_list(keys));
    BENTO_TRY(allow_all_formats(writing.get()));
    from_ = open_stock(path_);
    if (!from_.valid()) return fail(Code::kNotFound, fmt::format("'{}' has no native view", path_));
    committed_ = FileHandle(H5Fopen(path_.c_str(), H5F_ACC_RDONLY, reading.get()));
    const PlistHandle creation(H5Pcreate(H5P_FILE_CREATE));
    const GroupHandle root(H5Gopen2(from_.get(), "/", H5P_DEFAULT));
    BENTO_TRY(copy_group_properties(root.get(), creation.get()));
    to_ = FileHandle(H5Fcreate(fresh_.c_str(), H5F_ACC_TRUNC, creation.get(), writing.get()));
    if (!committed_.valid() || !to_.valid())
      return fail(Code::kIo, fmt::format("'{}' cannot be copied to '{}'", path_, fresh_));
    return {};
  }

  Result<MadeDataset> make(hid_t dataset, hid_t type, const std::string& name) {
    const SpaceHandle space(H5Dget_space(dataset));
    PlistHandle dcpl(H5Dget_create_plist(dataset));
    MadeDataset made;
    made.data_needed = true;
    if (maps_to_our_sources(dcpl.get()) || H5Pget_layout(dcpl.get()) != H5D_VIRTUAL)
      dcpl = creation_list(committed_.get(), name, dataset, space.get());
    else
      made.data_needed = false;  // a virtual dataset of the user's own
    if (H5Pget_external_count(dcpl.get()) > 0) made.data_needed = false;
    made.dataset = create_unnamed(to_.get(), type, space.get(), dcpl.get());
    if (!made.dataset.valid())
      return fail(Code::kInternal, fmt::format("'{}' cannot be made in the new container", name));
    return made;
  }

  /// Gives something up, or says that it would be lost.
  Status give_up(const std::string& what) {
    if (how_ == TakeOver::kAnyway) {
      given_up_.push_back(what);
      return {};
    }
    return fail(Code::kUnsupported,
                fmt::format("'{}': {}. 'h5bento view take-over --force' gives that up; 'h5bento "
                            "view drop' keeps it, and forgets what other programs changed",
                            path_, what));
  }

  /// Those that were null in the view already, where nobody counts them any more.
  Status look_for_lost_references() {
    for (const std::string& note : read_notes(from_.get(), path_))
      if (!note.starts_with('\''))  // of no object of its own
        BENTO_TRY(give_up("of the native view: " + note));
    return {};
  }

  /// An object that the view has no place for comes from what is committed.
  Status bring(const H5O_token_t* object, hid_t group, const char* name, hid_t lcpl,
               const std::string& path) {
    const QuietErrors quiet;
    if (object != nullptr) {
      BENTO_TRY(look_for_references(*object, path));
      if (bring_object(*object, group, name, lcpl)) return {};
    }
    const std::string why = object != nullptr ? innermost_error() : "the view does not tell which";
    return give_up(
        fmt::format("'{}' stands for an object that is not in the native view, and "
                    "cannot be copied from what is committed ({})",
                    path, why));
  }
  static std::string key(const H5O_token_t& object) {
    return {reinterpret_cast<const char*>(&object), sizeof object};
  }
  /// Those of what is committed lead to objects there, which may be others or elsewhere in the
  /// view.
  Status look_for_references(const H5O_token_t& object, const std::string& path) {
    if (brought_.contains(key(object))) return {};
    const ObjectHandle from(H5Oopen_by_token(committed_.get(), object));
    if (!from.valid()) return {};  // which bring_object() says
    BENTO_ASSIGN(const auto holder, holds_references(from.get()));
    if (!holder) return {};
    return give_up(fmt::format(
        "'{}' is not in the native view, and a copy from what is committed loses its references "
        "(in {}, perhaps in more)",
        path, *holder));
  }
  bool bring_object(const H5O_token_t& object, hid_t group, const char* name, hid_t lcpl) {
    const std::string token = key(object);
    if (const auto known = brought_.find(token); known != brought_.end()) {
      const ObjectHandle first(H5Oopen_by_token(to_.get(), known->second));
      return first.valid() && H5Olink(first.get(), group, name, lcpl, H5P_DEFAULT) >= 0;
    }
    const ObjectHandle from(H5Oopen_by_token(committed_.get(), object));
    const PlistHandle how(H5Pcreate(H5P_OBJECT_COPY));
    H5O_info2_t made{};
    if (!from.valid() || H5Pset_copy_object(how.get(), H5O_COPY_MERGE_COMMITTED_DTYPE_FLAG) < 0 ||
        H5Ocopy(from.get(), ".", group, name, how.get(), lcpl) < 0 ||
        H5Oget_info_by_name3(group, name, &made, H5O_INFO_BASIC, H5P_DEFAULT) < 0)
      return false;
    brought_.emplace(token, made.token);
    return true;
  }

  std::string path_;
  std::string fresh_;
  TakeOver how_;
  FileHandle from_;  ///< the view
  FileHandle committed_;
  FileHandle to_;
  std::map<std::string, H5O_token_t> brought_;  ///< tokens in committed_ and in to_
  std::vector<std::string> given_up_;
};

Status verify_visible_data(Container& container) {
  for (const auto& dataset : container.datasets()) {
    BENTO_ASSIGN(const RecordLookup seen,
                 container.find(dataset.number, whole_space(dataset.rank)));
    for (const auto& record : seen.records) BENTO_TRY(container.read_stored(record));
  }
  return {};
}

Status drop_joined_view(JoinedFiles& files) {
  for (std::uint32_t index = files.plan().files(); index-- > 0;) BENTO_TRY(files.drop_view(index));
  return {};
}

}  // namespace

Result<JoinedReport> repair_streams(const std::string& path, std::vector<std::string>& notes,
                                    const ViewSettings& settings) {
  return repair_joined(path, kGateSeconds, [&](JoinedFiles& files) -> Status {
    BENTO_ASSIGN(notes, build_joined_view(files, {settings.copy_bytes}));
    return {};
  });
}

Result<std::vector<std::string>> rebuild_view(const std::string& path, const ViewSettings& settings,
                                              MissingView missing) {
  if (is_joined_container(path)) {
    std::vector<std::string> notes;
    BENTO_TRY(repair_streams(path, notes, settings));
    return notes;
  }
  BENTO_ASSIGN(const auto container, open_to_write(path, false, missing));
  return complete_again(*container, settings);
}

Result<RecoveryReport> recover_container(const std::string& path, const ViewSettings& settings) {
  return recover(path, {}, [&settings](ViewJob& job) { return build_native_view(settings, job); });
}

Result<std::vector<std::string>> view_notes(const std::string& path) {
  const FileHandle file = open_stock(path);
  if (!file.valid()) return fail(Code::kNotFound, fmt::format("'{}' has no native view", path));
  return read_notes(file.get(), path);
}

Result<std::vector<std::string>> drop_edited_view(const std::string& path,
                                                  const ViewSettings& settings) {
  if (is_joined_container(path)) {
    BENTO_TRY(alone_with_joined(path, kGateSeconds, drop_joined_view));
    return std::vector<std::string>{};
  }
  BENTO_ASSIGN(const auto container, open_to_write(path, true));
  Status whole = verify_visible_data(*container);
  if (!whole) {
    container->abandon();
    return fail(std::move(whole).error().with_context(
        "another program overwrote data in place; it can only be taken over"));
  }
  return complete_again(*container, settings);
}

namespace {

/// The copy gets name, permissions and SION's name of the container.
Status put_in_place(const Container& container, const std::string& fresh, const std::string& old) {
  {
    BENTO_ASSIGN(const auto replaced, open_posix_file(old, OpenMode::kRead));
    BENTO_ASSIGN(const std::string known_as, name_in(*replaced));
    BENTO_ASSIGN(const auto copy, open_posix_file(fresh, OpenMode::kReadWrite));
    BENTO_TRY(call_container(*copy, known_as));
    take_permissions_of(old, copy->descriptor());
    BENTO_TRY(copy->close());
  }
  BENTO_TRY(check_not_replaced(old, container.identity()));
  if (std::rename(fresh.c_str(), old.c_str()) != 0)
    return fail(os_error(errno, "renaming to", old));
  return {};
}

/// By all that belongs to the view: a reader looks at its superblock only.
Result<bool> changed_by_others(const std::string& path) {
  BENTO_ASSIGN(const auto readable,
               Container::open(path, false, {}, make_self_communicator()));  // its errors say more
  BENTO_ASSIGN(Survey survey, Survey::open(path));
  BENTO_ASSIGN(const ViewState state, survey.examined_view());
  return state == ViewState::kEdited;
}

/// A program that was killed after commits has left the view of the close before. The views of
/// view=commit are newer.
Status check_view_is_newest(const std::string& path) {
  BENTO_ASSIGN(const auto readable, Container::open(path, false, {}, make_self_communicator()));
  const Root& root = readable->root();
  if ((root.flags & (kRootClosed | kRootLiveViews)) != 0 || root.step + 1 == root.closed) return {};
  return fail(
      Code::kUnsupported,
      fmt::format("'{}': what another program changed is the native view of an earlier step, "
                  "for a program with h5bento was killed after newer commits, up to step {}. "
                  "'h5bento view take-over --force' gives these up; 'h5bento view drop' "
                  "keeps them, and forgets the change",
                  path, root.step));
}

}  // namespace

Result<std::vector<std::string>> take_over_view(const std::string& path, TakeOver how) {
  if (is_joined_container(path))
    return fail(
        Code::kUnsupported,
        fmt::format("'{}' holds the HDF5 files of processes, and what another program wrote "
                    "into its native view belongs to none of them; 'h5bento view drop' "
                    "forgets it",
                    path));
  // Who opens it for writing leaves a note, which only a close takes away.
  if (how == TakeOver::kIfChanged) {
    BENTO_ASSIGN(const bool changed, changed_by_others(path));
    if (!changed)
      return fail(
          Code::kInvalidArgument,
          fmt::format("'{}' was not changed by another program, as far as its metadata tell",
                      path));
    BENTO_TRY(check_view_is_newest(path));
  }
  // Nobody else writes the file, or creates it anew, until the copy has its name.
  BENTO_ASSIGN(const auto container, open_to_write(path, true));
  if (!container->view_edited() && how == TakeOver::kIfChanged)
    return fail(Code::kBusy, fmt::format("'{}' was taken over by somebody else meanwhile", path));
  const std::string old = container->names().first();
  BENTO_ASSIGN(const auto parts,
               parts_to_remove(container->names(), container->root(), true, &open_posix_file));
  const std::string fresh = old + ".taken-over";
  if (Status made = make_private_file(fresh); !made) {
    if (made.error().code != Code::kExists) return fail(std::move(made).error());
    return fail(Code::kExists,
                fmt::format("'{}' is there already: another take-over is making it, or one was "
                            "ended and left it; remove it if none runs",
                            fresh));
  }
  const bool md5 = container->root().record_hash() == fti::HashKind::kMd5;
  std::vector<std::string> given_up;
  Status done;
  {
    TakenOver taken(path, fresh, how);
    done = taken.copy(md5 ? "checksum=md5" : "");
    given_up = std::move(taken.given_up());
  }
  if (done) done = put_in_place(*container, fresh, old);
  if (!done) {
    (void)std::remove(fresh.c_str());
    return fail(std::move(done).error());
  }
  for (const auto& part : parts) (void)std::remove(part.c_str());
  return given_up;
}

}  // namespace bento::vol
