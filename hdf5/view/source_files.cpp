// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "hdf5/view/source_files.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <sstream>

#include <fmt/format.h>

#include "core/base/hex.hpp"
#include "core/layout/names.hpp"
#include "hdf5/base/error_bridge.hpp"
#include "hdf5/base/native_connector.hpp"
#include "hdf5/data/spaces.hpp"
#include "hdf5/view/adopted_storage.hpp"

namespace bento::vol {

namespace {

constexpr const char* kCurrent = "view";  // attribute of /.h5bento: the id of the view in use
constexpr const char* kNotes = "not in this view";
// Comment of /.h5bento in a view with other physical files, before the name of the first. h5diff,
// which is to find two containers of equal content equal, compares no comments.
constexpr const char* kMadeFor = "made for ";

Status write_text(hid_t object, const char* name, const std::string& text) {
  const TypeHandle type(H5Tcopy(H5T_C_S1));
  if (H5Tset_size(type.get(), text.size() + 1) < 0 || H5Tset_cset(type.get(), H5T_CSET_UTF8) < 0)
    return fail(Code::kInternal, fmt::format("native view: no type for attribute '{}'", name));
  const SpaceHandle space(H5Screate(H5S_SCALAR));
  const AttributeHandle attribute(
      H5Acreate2(object, name, type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT));
  if (!attribute.valid() || H5Awrite(attribute.get(), type.get(), text.c_str()) < 0)
    return fail(Code::kInternal, fmt::format("native view: attribute '{}' cannot be made", name));
  return {};
}

std::string base_of(const std::string& path) {
  return path.substr(path.find_last_of('/') + 1);
}

std::string read_text(hid_t object, const char* name) {
  const AttributeHandle attribute(H5Aopen(object, name, H5P_DEFAULT));
  if (!attribute.valid()) return {};
  const TypeHandle type(H5Aget_type(attribute.get()));
  std::string text(H5Tget_size(type.get()) + 1, '\0');
  if (H5Tis_variable_str(type.get()) != 0 || H5Aread(attribute.get(), type.get(), text.data()) < 0)
    return {};
  return text.c_str();
}

std::string comment_of(hid_t object) {
  std::array<char, 4096> text{};
  if (H5Oget_comment(object, text.data(), text.size() - 1) < 0) return {};
  return text.data();
}

}  // namespace

FileHandle open_stock(const std::string& path) {
  const PlistHandle list(H5Pcreate(H5P_FILE_ACCESS));
  if (H5Pset_vol(list.get(), native_connector(), nullptr) < 0 || H5Pset_fapl_sec2(list.get()) < 0 ||
      H5Pset_file_locking(list.get(), false, true) < 0)
    return {};
  FileHandle file;
  H5E_BEGIN_TRY {
    file = FileHandle(H5Fopen(path.c_str(), H5F_ACC_RDONLY, list.get()));
  }
  H5E_END_TRY
  return file;
}

namespace {

GroupHandle open_group(hid_t file, const std::string& path) {
  GroupHandle group;
  H5E_BEGIN_TRY {
    group = GroupHandle(H5Gopen2(file, path.c_str(), H5P_DEFAULT));
  }
  H5E_END_TRY
  return group;
}

std::string link_name(hid_t group, hsize_t at) {
  std::array<char, 256> name{};
  const ssize_t length = H5Lget_name_by_idx(group, ".", H5_INDEX_NAME, H5_ITER_INC, at, name.data(),
                                            name.size(), H5P_DEFAULT);
  return length < 0 ? std::string{} : name.data();
}

/// The group below `top` of a file k > 0 with the sources of the view of this id; empty if there is
/// none. Views of older versions have the id alone.
std::string group_of(hid_t top, const std::string& id) {
  H5G_info_t info{};
  if (H5Gget_info(top, &info) < 0) return {};
  for (hsize_t i = 0; i < info.nlinks; ++i)
    if (std::string name = link_name(top, i); name == id || name.starts_with(id + "-")) return name;
  return {};
}

}  // namespace

std::vector<std::string> read_notes(hid_t file, const std::string& path) {
  std::vector<std::string> notes;
  const GroupHandle top = open_group(file, std::string("/") + kViewGroup);
  if (!top.valid()) return notes;
  if (const std::string comment = comment_of(top.get()); comment.starts_with(kMadeFor)) {
    const std::string made_for = comment.substr(std::string_view(kMadeFor).size());
    if (made_for != base_of(end_of_links(path)))
      notes.push_back(
          fmt::format("what lies in other physical files: they are looked for as those of '{}', as "
                      "the container was called when the view was made; 'h5bento view build' makes "
                      "it for the name of today",
                      made_for));
  }
  if (H5Aexists(top.get(), kNotes) <= 0) return notes;
  std::istringstream lines(read_text(top.get(), kNotes));
  for (std::string line; std::getline(lines, line);) notes.push_back(line);
  return notes;
}

SourceFiles::SourceFiles(ViewJob& job) : job_(job), parts_(job.spaces.size()) {}

SourceFiles::~SourceFiles() {
  const ErrorStackKeeper keep;
  for (auto& part : parts_) {
    if (part.open) part.open->view().give_up();
    part.close_groups();
    part.open.reset();
  }
}

Status SourceFiles::failure() const {
  for (const auto& part : parts_)
    if (part.open) BENTO_TRY(part.open->failure());
  return {};
}

std::string SourceFiles::file_name(std::uint32_t index) const {
  if (index == 0) return ".";
  return base_of(physical_name(job_.path, index));
}

Status SourceFiles::create_file(Part& part, std::uint32_t index, hid_t like) {
  part.place = std::make_unique<Place>(job_.spaces[index]);
  part.open = std::make_unique<OpenView>(*part.place);
  return part.open->create(fmt::format("native view of {}", physical_name(job_.path, index)), like,
                           ObjectTimes::kAsWanted, LinkTables::kKept);
}

Result<hid_t> SourceFiles::create_main(hid_t like) {
  BENTO_TRY(create_file(parts_[0], 0, like));
  return parts_[0].open->id();
}

// In file 0 nobody else's sources can come to lie, and h5diff is to find two containers of equal
// content equal.
std::string SourceFiles::group_name(std::uint32_t index) const {
  if (index == 0) return fmt::format("{}", job_.id);
  return fmt::format("{}-{}", job_.id, hex(std::span(job_.session).first(8)));
}

Status SourceFiles::begin_groups(Part& part, std::uint32_t index) {
  if (part.used) return {};
  part.used = true;
  // Linked at once: an anonymous group may be lost (docs/hdf5-traps.md).
  part.top =
      GroupHandle(H5Gcreate2(part.open->id(), kViewGroup, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  if (!part.top.valid()) return fail(Code::kInternal, "native view: no group for the sources");
  part.sources = GroupHandle(
      H5Gcreate2(part.top.get(), group_name(index).c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  if (!part.sources.valid()) return fail(Code::kInternal, "native view: no group for the sources");
  return write_text(part.top.get(), kCurrent, fmt::format("{}", job_.id));
}

Result<SourceFiles::Part*> SourceFiles::part(std::uint32_t index) {
  Part& part = parts_[index];
  if (!part.open) BENTO_TRY(create_file(part, index, H5I_INVALID_HID));
  if (!part.used) {
    BENTO_TRY(begin_groups(part, index));
    if (index > 0) BENTO_TRY(carry_previous(part, index));
  }
  return &part;
}

// File 0 is switched last. Until then its old view looks for its old sources here.
Status SourceFiles::carry_previous(Part& part, std::uint32_t index) {
  const FileHandle main = open_stock(job_.path);
  if (!main.valid()) return {};
  const std::string top = std::string("/") + kViewGroup;
  const GroupHandle main_top = open_group(main.get(), top);
  const std::string id = main_top.valid() ? read_text(main_top.get(), kCurrent) : std::string{};
  const FileHandle old = id.empty() ? FileHandle{} : open_stock(physical_name(job_.path, index));
  if (!old.valid()) return {};
  const GroupHandle old_top = open_group(old.get(), top);
  const std::string group = old_top.valid() ? group_of(old_top.get(), id) : std::string{};
  const GroupHandle sources = group.empty() ? GroupHandle{} : open_group(old_top.get(), group);
  H5G_info_t info{};
  if (!sources.valid() || H5Gget_info(sources.get(), &info) < 0) return {};
  const GroupHandle copies(
      H5Gcreate2(part.top.get(), group.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  for (hsize_t i = 0; i < info.nlinks; ++i) {
    const std::string name = link_name(sources.get(), i);
    if (name.empty())
      return fail(Code::kInternal, "native view: the previous sources cannot be listed");
    const DatasetHandle dataset(H5Dopen2(sources.get(), name.c_str(), H5P_DEFAULT));
    const TypeHandle type(H5Dget_type(dataset.get()));
    const SpaceHandle space(H5Dget_space(dataset.get()));
    const PlistHandle list(H5Dget_create_plist(dataset.get()));
    ViewSource source;
    source.file = index;
    std::array<hsize_t, kMaxRank> dims{};
    const int rank = H5Sget_simple_extent_dims(space.get(), dims.data(), nullptr);
    if (rank < 0) return fail(Code::kInternal, "native view: a previous source is unreadable");
    source.shape = Dims(static_cast<unsigned>(rank));
    for (unsigned d = 0; d < source.shape.rank(); ++d) source.shape[d] = dims[d];
    haddr_t address = H5Dget_offset(dataset.get());
    hsize_t bytes = H5Dget_storage_size(dataset.get());
    if (H5Pget_layout(list.get()) == H5D_CHUNKED) {
      source.encoding = Encoding::kFiltered;
      const std::array<hsize_t, kMaxRank> origin{};
      unsigned mask = 0;
      if (H5Dget_chunk_info_by_coord(dataset.get(), origin.data(), &mask, &address, &bytes) < 0)
        return fail(Code::kInternal, "native view: a previous source is unreadable");
      source.filter_mask = mask;
    }
    source.address = address;
    source.bytes = bytes;
    BENTO_ASSIGN(const PlistHandle own_list, list_of_source(source.encoding, list.get()));
    BENTO_ASSIGN(const DatasetHandle copy, adopt_source(part.open->id(), part.open->view(), source,
                                                        type.get(), space.get(), own_list.get()));
    if (H5Olink(copy.get(), copies.get(), name.c_str(), H5P_DEFAULT, H5P_DEFAULT) < 0)
      return fail(Code::kInternal, "native view: a previous source cannot be linked");
  }
  return {};
}

Result<std::string> SourceFiles::add(const ViewSource& source, hid_t type, hid_t list,
                                     const std::string& name) {
  BENTO_ASSIGN(Part* const target, part(source.file));
  const SpaceHandle space = simple_space(source.shape);
  BENTO_ASSIGN(const DatasetHandle dataset, adopt_source(target->open->id(), target->open->view(),
                                                         source, type, space.get(), list));
  if (H5Olink(dataset.get(), target->sources.get(), name.c_str(), H5P_DEFAULT, H5P_DEFAULT) < 0)
    return fail(Code::kInternal, fmt::format("native view: source '{}' cannot be linked", name));
  return fmt::format("/{}/{}/{}", kViewGroup, group_name(source.file), name);
}

Status SourceFiles::write_notes(const std::vector<std::string>& notes) {
  if (notes.empty()) return {};
  BENTO_ASSIGN(Part* const main, part(0));
  return vol::write_notes(main->top.get(), notes);
}

Status write_notes(hid_t top, const std::vector<std::string>& notes) {
  std::string text;
  for (const auto& note : notes) text += note + "\n";
  constexpr std::size_t kLargest = 60000;  // fits an object header
  if (text.size() > kLargest) text.resize(kLargest);
  return write_text(top, kNotes, text);
}

Result<std::vector<std::optional<Superblock>>> SourceFiles::finish(
    const OpenView::Last& last_of_main) {
  // The main file says which view is in use even if all its sources are in other files.
  const bool others =
      std::any_of(parts_.begin() + 1, parts_.end(), [](const Part& part) { return part.used; });
  if (others) {
    BENTO_ASSIGN(Part* const main, part(0));
    const std::string comment = kMadeFor + base_of(job_.path);
    if (H5Oset_comment(main->top.get(), comment.c_str()) < 0)
      return fail(Code::kInternal, "native view: its group can have no comment");
  }
  std::vector<std::optional<Superblock>> superblocks(parts_.size());
  for (std::size_t index = 0; index < parts_.size(); ++index) {
    Part& part = parts_[index];
    if (!part.open) continue;
    part.close_groups();
    BENTO_ASSIGN(superblocks[index],
                 part.open->finish(index == 0 ? last_of_main : OpenView::Last{}));
  }
  return superblocks;
}

}  // namespace bento::vol
