// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "hdf5/joined/joined_view.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "core/base/checked.hpp"
#include "core/base/hex.hpp"
#include "hdf5/base/dropped_references.hpp"
#include "hdf5/base/error_bridge.hpp"
#include "hdf5/base/library_state.hpp"
#include "hdf5/base/quiet_errors.hpp"
#include "hdf5/joined/stream_datasets.hpp"
#include "hdf5/joined/stream_driver.hpp"
#include "hdf5/view/group_properties.hpp"
#include "hdf5/view/open_view.hpp"
#include "hdf5/view/source_files.hpp"
#include "hdf5/view/tree_copy.hpp"

namespace bento::vol {

namespace {

constexpr std::uint64_t kMinCopyBudget = 64u << 20;

/// Space behind everything else in a physical file.
class Behind final : public ViewPlace {
 public:
  Behind(JoinedFiles& files, std::uint32_t index, File& file, std::uint64_t begin)
      : files_(files), index_(index), file_(file), begin_(begin), end_(begin), reserved_(begin) {}

  Result<std::uint64_t> allocate(std::uint64_t bytes) override {
    const std::uint64_t at = end_;
    BENTO_ASSIGN(const std::uint64_t end, checked_add(at, bytes));
    BENTO_ASSIGN(end_, checked_round_up(end, std::uint64_t{8}));
    if (end_ > 2 * kMaxLogicalBytes)
      return fail(os_error(EFBIG, "native view: making longer", file_.path()));
    if (end_ > reserved_) {
      // The file is made longer by much at a time, since its superblock says its length.
      reserved_ = end_ + std::clamp<std::uint64_t>(end_ - begin_, 1u << 20, 64u << 20);
      BENTO_TRY(files_.ensure_length(index_, reserved_));
    }
    return at;
  }
  [[nodiscard]] File& file() const override { return file_; }
  [[nodiscard]] std::uint64_t base() const override {
    return files_.plan().file(index_).superblock_address();
  }
  Status publish(const Superblock& superblock) {
    return files_.publish_view(index_, begin_, end_, superblock);
  }

 private:
  JoinedFiles& files_;
  std::uint32_t index_;
  File& file_;
  std::uint64_t begin_;
  std::uint64_t end_;
  std::uint64_t reserved_;
};

class Builder {
 public:
  Builder(JoinedFiles& files, std::shared_ptr<StreamSet> set, const JoinedViewSettings& settings)
      : files_(files), set_(std::move(set)), parts_(files.plan().files()) {
    std::uint64_t all = 0;
    for (const auto& [name, slot] : set_->by_name()) all += slot.length();
    budget_ = settings.copy_bytes != 0 ? settings.copy_bytes : std::max(kMinCopyBudget, all / 10);
    choose_paths();
  }

  Status run() {
    BENTO_TRY(begin_part(0));
    for (const auto& [name, slot] : set_->by_name()) BENTO_TRY(add(slot));
    if (!notes_.empty()) {
      BENTO_ASSIGN(const GroupHandle top, own_group());
      BENTO_TRY(write_notes(top.get(), notes_));
    }
    // File 0 is what readers open.
    for (std::size_t index = parts_.size(); index-- > 0;) {
      if (!parts_[index].open) continue;
      BENTO_ASSIGN(const Superblock superblock, parts_[index].open->finish());
      BENTO_TRY(parts_[index].place->publish(superblock));
    }
    return {};
  }
  [[nodiscard]] std::vector<std::string>& notes() { return notes_; }

 private:
  struct Part {
    std::unique_ptr<Behind> place;
    std::unique_ptr<OpenView> open;
  };

  Status begin_part(std::uint32_t index) {
    Part& part = parts_[index];
    if (part.open) return {};
    BENTO_ASSIGN(const std::uint64_t begin, files_.begin_view(index));
    BENTO_ASSIGN(File* const file, files_.file(index));
    part.place = std::make_unique<Behind>(files_, index, *file, begin);
    part.open = std::make_unique<OpenView>(*part.place);
    return part.open->create(fmt::format("native view of {}", file->path()), H5I_INVALID_HID);
  }

  /// Name of a file as a path of groups.
  static std::string plain_path(const std::string& name) {
    std::string path;
    for (std::size_t at = 0; at < name.size();) {
      const std::size_t end = std::min(name.find('/', at), name.size());
      const std::string part = name.substr(at, end - at);
      if (!part.empty() && part != ".") path += "/" + part;
      at = end + 1;
    }
    return path;
  }

  /// Groups that lead to a path.
  static std::vector<std::string> above(const std::string& path) {
    std::vector<std::string> groups;
    for (std::size_t at = path.find('/', 1); at != std::string::npos; at = path.find('/', at + 1))
      groups.push_back(path.substr(0, at));
    return groups;
  }

  /// Names of files as they are, but in one name where it would lie inside the group of another
  /// file, or in ours. No two are the same.
  void choose_paths() {
    const std::string own = std::string("/") + kViewGroup;
    std::set<std::string> files;
    for (const auto& [name, slot] : set_->by_name()) files.insert(plain_path(name));
    std::set<std::string> taken = files;
    std::set<std::string> shown;
    for (const auto& file : files)
      for (auto& group : above(file)) taken.insert(std::move(group));
    for (const auto& [name, slot] : set_->by_name()) {
      std::string path = plain_path(name);
      const bool given = !shown.insert(path).second;
      const auto groups = above(path);
      const bool inside =
          path.empty() || path == own || path.starts_with(own + "/") ||
          std::ranges::any_of(groups, [&](const auto& group) { return files.contains(group); });
      if (inside || given) {
        path = "|" + path.substr(path.empty() ? 0 : 1);
        std::ranges::replace(path, '/', '|');
        path = "/" + path;
        while (!taken.insert(path).second) path += '|';
      }
      paths_.emplace(name, std::move(path));
    }
  }

  /// Where what is shown at `path` lies in its physical file. The name of a file may come to be
  /// that of another container's: there this leads nowhere.
  [[nodiscard]] std::string place_in(std::uint32_t index, const std::string& path) const {
    if (index == 0) return path;
    return fmt::format("/{}/{}{}", kViewGroup, hex(files_.root().file_id), path);
  }

  [[nodiscard]] static PlistHandle with_parents() {
    PlistHandle list(H5Pcreate(H5P_LINK_CREATE));
    H5Pset_create_intermediate_group(list.get(), 1);
    return list;
  }

  Result<GroupHandle> own_group() {
    const hid_t main = parts_[0].open->id();
    GroupHandle top(H5Lexists(main, kViewGroup, H5P_DEFAULT) > 0
                        ? H5Gopen2(main, kViewGroup, H5P_DEFAULT)
                        : H5Gcreate2(main, kViewGroup, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    if (!top.valid()) return copy_failure(kViewGroup, "cannot be made");
    return top;
  }

  Status add(const Slot& slot) {
    const std::string& path = paths_.at(slot.name);
    const std::uint32_t index = files_.plan().file_of(slot.task);
    auto opened = open_stream_file(set_, slot);
    if (!opened) return leave_out(path, slot, opened.error().text);
    BENTO_TRY(begin_part(index));
    BENTO_TRY(copy_file(opened->get(), slot, index, path));
    if (index == 0 || left_out_.contains(path)) return {};
    const PlistHandle list = with_parents();
    if (H5Lcreate_external(file_name(index).c_str(), place_in(index, path).c_str(),
                           parts_[0].open->id(), path.c_str(), list.get(), H5P_DEFAULT) < 0)
      return copy_failure(path, "its link cannot be made");
    return {};
  }

  Status copy_file(hid_t from, const Slot& slot, std::uint32_t index, const std::string& path) {
    OpenView& open = *parts_[index].open;
    const GroupHandle root(H5Gopen2(from, "/", H5P_DEFAULT));
    const PlistHandle properties(H5Pcreate(H5P_GROUP_CREATE));
    const PlistHandle list = with_parents();
    const std::string place = place_in(index, path);
    if (!root.valid()) return leave_out(path, slot, "its root group is unreadable");
    BENTO_TRY(copy_group_properties(root.get(), properties.get()));
    const GroupHandle group(
        H5Gcreate2(open.id(), place.c_str(), list.get(), properties.get(), H5P_DEFAULT));
    BENTO_TRY(open.failure());
    if (!group.valid()) return copy_failure(path, "cannot be made");
    StreamDatasets datasets(*set_, slot, open.view(), open.id(), budget_);
    TreeCopy tree(
        from, group.get(),
        [&datasets](hid_t dataset, const H5O_token_t&, hid_t type, const std::string& name) {
          return datasets.make(dataset, type, name);
        },
        [&open] { return open.failure(); }, {});
    tree.set_left_out([&](const std::string& name, const std::string& why) {
      notes_.push_back(
          fmt::format("'{}' of '{}' is not in the native view: {}; 'h5bento export "
                      "--format per-rank' has it",
                      name, slot.name, why));
    });
    tree.set_retarget([&](const char* file, const char* target) {
      return retarget(slot, index, path, file, target);
    });
    Status copied = tree.run();
    BENTO_TRY(open.failure());
    if (!copied) return set_aside(open.id(), place, path, slot, copied.error().text);
    notes_.insert(notes_.end(), datasets.notes().begin(), datasets.notes().end());
    if (tree.dropped_references() > 0)
      notes_.push_back(fmt::format("'{}': {}, and are null in the native view", slot.name,
                                   about_dropped_references(tree.dropped_references())));
    return {};
  }

  /// Paths from the root of a file, and links to other files that are streams, too.
  [[nodiscard]] std::optional<TreeCopy::LinkTarget> retarget(const Slot& slot, std::uint32_t index,
                                                             const std::string& path,
                                                             const char* file,
                                                             const char* target) const {
    const std::string_view to = target;
    if (file == nullptr) {
      if (!to.starts_with('/')) return std::nullopt;
      return TreeCopy::LinkTarget{"", place_in(index, path) + std::string(to)};
    }
    const std::filesystem::path folder = std::filesystem::path(set_->path_of(slot)).parent_path();
    const Slot* other = set_->find((folder / file).string());
    if (other == nullptr) other = set_->find(file);
    if (other == nullptr) return std::nullopt;
    const std::uint32_t where = files_.plan().file_of(other->task);
    return TreeCopy::LinkTarget{where == index ? "" : file_name(where),
                                place_in(where, paths_.at(other->name)) +
                                    (to.starts_with('/') ? "" : "/") + std::string(to)};
  }

  /// As a link names a physical file: without folder.
  [[nodiscard]] std::string file_name(std::uint32_t index) const {
    return std::filesystem::path(physical_name(files_.path(), index)).filename().string();
  }

  // Nothing of it is deleted: the library would give the place of adopted data to others.
  Status set_aside(hid_t file, const std::string& place, const std::string& path, const Slot& slot,
                   const std::string& why) {
    const std::string aside = fmt::format("/{}/incomplete/{}", kViewGroup, slot.task);
    const PlistHandle list = with_parents();
    if (H5Lmove(file, place.c_str(), file, aside.c_str(), list.get(), H5P_DEFAULT) < 0)
      return copy_failure(path, "cannot be set aside");
    return leave_out(path, slot, why);
  }

  Status leave_out(const std::string& path, const Slot& slot, const std::string& why) {
    notes_.push_back(fmt::format("'{}' is not in the native view: {}", slot.name, why));
    left_out_.insert(path);
    const PlistHandle list = with_parents();
    const std::string target =
        dangling_target(why + "; 'h5bento export --format per-rank' has the file");
    if (H5Lcreate_soft(target.c_str(), parts_[0].open->id(), path.c_str(), list.get(),
                       H5P_DEFAULT) < 0)
      return copy_failure(path, "its link cannot be made");
    return {};
  }

  JoinedFiles& files_;
  std::shared_ptr<StreamSet> set_;
  std::vector<Part> parts_;
  std::uint64_t budget_ = 0;
  std::map<std::string, std::string> paths_;  ///< by the names of all files
  std::set<std::string> left_out_;            ///< of those that are not shown
  std::vector<std::string> notes_;
};

}  // namespace

Result<std::vector<std::string>> build_joined_view(JoinedFiles& files,
                                                   const JoinedViewSettings& settings) {
  const LibraryState state;
  const QuietErrors quiet;
  const ErrorStackKeeper keep;
  // Also of files that will have none.
  std::vector<std::uint64_t> begins;
  for (std::uint32_t index = 0; index < files.plan().files(); ++index) {
    BENTO_ASSIGN(const std::uint64_t begin, files.begin_view(index));
    begins.push_back(begin);
  }
  BENTO_ASSIGN(auto set, StreamSet::of(files));
  Status done;
  std::vector<std::string> notes;
  {
    Builder builder(files, std::move(set), settings);
    done = builder.run();
    notes = std::move(builder.notes());
  }
  if (done) return notes;
  for (std::uint32_t index = 0; index < files.plan().files(); ++index)
    (void)files.give_up_view(index, begins[index]);
  return fail(std::move(done).error());
}

Result<std::vector<std::string>> joined_view_notes(const std::string& path) {
  const LibraryState state;
  const QuietErrors quiet;
  const ErrorStackKeeper keep;
  const FileHandle file = open_stock(path);
  if (!file.valid())
    return fail(Code::kNotFound, fmt::format("HDF5 cannot open the native view of '{}'", path));
  return read_notes(file.get(), path);
}

void joined_view_forget() {
  stream_driver_forget();
  view_driver_forget();
}

}  // namespace bento::vol
