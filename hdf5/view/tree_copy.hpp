// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Copies the tree of one HDF5 file into a new one: groups, links of every kind, committed types,
/// attributes, comments, creation order; references point to the copies. How a dataset is made is
/// left to the caller.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <hdf5.h>

#include "core/base/error.hpp"
#include "hdf5/base/handle.hpp"
#include "hdf5/view/group_properties.hpp"
#include "hdf5/view/references.hpp"

namespace bento::vol {

/// Does such an error leave one dataset out of a view, and not cost all of it? Damaged data does,
/// and data that this session may not read, as that without a checksum under verify=all.
inline bool costs_one_dataset(const Error& error) {
  return error.code == Code::kCorrupt || error.code == Code::kUnsupported;
}

/// What became of a dataset.
struct MadeDataset {
  DatasetHandle dataset;  ///< anonymous, in the new file; invalid if it cannot be had there
  std::string why_not;    ///< then: the reason; the dataset's links become soft links to it
  bool data_needed =
      false;  ///< its data is to be copied from the old dataset once all objects exist
  std::function<Status(hid_t dataset)> fill;  ///< or it is written by this, once it is linked
  /// Or by this, once all objects exist.
  std::function<Status(hid_t dataset, ReferenceTranslator& references)> fill_last;
};

class TreeCopy {
 public:
  /// Makes the copy of dataset `from`, whose type in the new file is `type` (committed there if it
  /// was), without linking it. `path` is one of its paths.
  using MakeDataset = std::function<Result<MadeDataset>(hid_t from, const H5O_token_t& token,
                                                        hid_t type, const std::string& path)>;

  /// A hard link and the object that it leads to.
  struct HardLink {
    hid_t group;  ///< that it is in
    const char* name;
    const H5O_token_t& object;
  };
  /// The group of the copy that the link comes into.
  struct Destination {
    hid_t group;
    const H5O_token_t& token;
    bool table;  ///< has it a symbol table (symbol_table.hpp)?
  };
  struct WholeCopy {
    bool made = false;  ///< if not, nothing was done
    /// The copy; if not known, the link leads to it.
    std::optional<H5O_token_t> token;
  };
  /// Copies an object, with all that it has and its link. Where the group has a symbol table, the
  /// link may be missing until the file is closed, if the object's token is known.
  using CopyWhole =
      std::function<Result<WholeCopy>(const HardLink& from, const Destination& to, hid_t lcpl)>;
  /// Makes a group, anonymous in the new file, for the copy of `from`.
  using MakeGroup = std::function<GroupHandle(hid_t from, hid_t gcpl)>;

  struct LinkTarget {
    std::string file;  ///< of an external link; empty: the same file, by a soft link
    std::string path;
  };
  /// Where a link of the copy leads that is no hard link: for an external link `file` is its target
  /// file, else null; `path` its target path. Nothing: to the same file and path.
  using Retarget = std::function<std::optional<LinkTarget>(const char* file, const char* path)>;

  /// Ids of open files, borrowed; `to` may be a group, which becomes the copy of the root group.
  /// `make` is called once for each dataset. `go_on` is asked between objects; its error ends the
  /// copy. A link `skip` in the root group is not copied.
  TreeCopy(hid_t from, hid_t to, MakeDataset make, std::function<Status()> go_on, std::string skip);

  /// Asked for each soft and external link.
  void set_retarget(Retarget retarget) { retarget_ = std::move(retarget); }

  /// Asked first for each object.
  void set_copy_whole(CopyWhole copy) { copy_whole_ = std::move(copy); }

  /// Told of a dataset whose data cannot be read, and of an object that the library cannot open:
  /// its links become soft links that lead nowhere.
  /// Without it the copy fails.
  using LeftOut = std::function<void(const std::string& path, const std::string& why)>;
  void set_left_out(LeftOut left_out) { left_out_ = std::move(left_out); }

  /// Asked for each soft link that stands for an object which the file that is copied has no place
  /// for: makes that object under this name, or nothing. `object` is null if the link does not
  /// tell.
  using BringAbsent = std::function<Status(const H5O_token_t* object, hid_t group, const char* name,
                                           hid_t lcpl, const std::string& path)>;
  void set_bring_absent(BringAbsent bring) { bring_absent_ = std::move(bring); }

  /// Instead of H5Gcreate_anon.
  void set_make_group(MakeGroup make) { make_group_ = std::move(make); }

  /// Of the groups and committed types.
  void set_times(ObjectTimes times) { times_ = times; }

  /// Errors: kInternal, naming the object and what failed; kUnsupported for files whose objects
  /// share messages.
  Status run();
  /// References that had no object in the copy and became null.
  [[nodiscard]] std::size_t dropped_references() const { return translator_.dropped(); }

 private:
  /// Where the copy of one object's attributes has come to.
  struct AttributePlace {
    hsize_t next = 0;  ///< so many are copied already
    /// In this order; nothing: none was looked at. It is asked for once: what the library says of
    /// the order of one attribute need not hold for the next.
    std::optional<H5_index_t> order;
  };
  struct Pending {  // objects whose attributes and data follow when all objects exist
    H5O_token_t from;
    H5O_token_t to;
    bool data = false;
    std::function<Status(hid_t dataset, ReferenceTranslator& references)> fill;
    AttributePlace attributes;
    bool comment = false;            ///< it is, too
    bool done = false;               ///< all is
    std::vector<std::string> paths;  ///< of its links, where its data may tell to leave it out
  };
  /// Attributes are copied up to the first that holds references, or all.
  enum class Until : std::uint8_t { kReference, kEnd };

  [[nodiscard]] Status check_own_messages() const;
  Status copy_links(const H5O_token_t& from, const H5O_token_t& to, const std::string& path);
  Status copy_link(hid_t from, const Destination& to, const char* name, const H5L_info2_t& info,
                   const std::string& path);
  herr_t make_link(const char* file, const char* path, hid_t to, const char* name,
                   hid_t lcpl) const;
  Status copy_hard_link(const HardLink& link, const Destination& to, hid_t lcpl,
                        const std::string& path);
  Result<ObjectHandle> make_object(hid_t from, const H5O_token_t& token, const std::string& path);
  /// The type in the new file: committed if the old one is, and then one object for all.
  Result<TypeHandle> type_in_copy(hid_t type);
  Status hold_type(hid_t type);
  Status release_types();
  Status note(const H5O_token_t& from, hid_t copy, bool data);
  void note_path(const H5O_token_t& from, const std::string& path);
  Status leave_out(const Pending& object, const Error& why);
  /// The object just made, which one link leads to.
  Status leave_out_made(const std::string& path, const Error& why);
  /// An object that cannot be opened now or, if it is to be left out, at a second try.
  Status leave_out_unopened(const HardLink& link, const std::string& path);
  Status copy_comment(hid_t from, hid_t to);
  /// Of the object just made, all but references to others.
  Status copy_what_is_known(hid_t from, hid_t to);
  /// From the attribute `place` on, which moves on. False: not all of them.
  Result<bool> copy_attributes(hid_t from, hid_t to, AttributePlace& place, Until until);
  /// False: not copied.
  Result<bool> copy_attribute(hid_t from, const H5A_info_t& kind, hid_t to, Until until);
  Status copy_data(hid_t from, hid_t to);
  Status copy_in_parts(hid_t from, hid_t to, hid_t type, hid_t space, hid_t dcpl);

  hid_t from_;
  hid_t to_;
  MakeDataset make_;
  std::function<Status()> go_on_;
  Retarget retarget_;
  CopyWhole copy_whole_;
  MakeGroup make_group_;
  LeftOut left_out_;
  BringAbsent bring_absent_;
  ObjectTimes times_ = ObjectTimes::kAsWanted;
  std::string skip_;
  ObjectMap objects_;
  ReferenceTranslator translator_;
  std::vector<Pending> pending_;
  std::optional<std::size_t> made_;  ///< in pending_: the object just made
  std::map<std::string, std::size_t>
      with_data_;                              ///< token bytes -> in pending_, if its data follows
  std::map<std::string, std::string> absent_;  ///< token bytes -> why an object is not there
  struct Group {
    H5O_token_t from;
    H5O_token_t to;
    std::string path;
  };
  std::vector<Group> groups_;  ///< found, links not copied yet
  GroupHandle types_;          ///< holds committed types by a link until all links are copied
  std::size_t held_types_ = 0;
  std::function<Status(hid_t dataset)> fill_;  ///< of the dataset just made
};

/// What failed at which object, with what the library said deepest inside.
tl::unexpected<Error> copy_failure(const std::string& path, const char* what);

/// The soft link that stands where an object cannot be shown: it leads nowhere, and says why and,
/// if that is one, for which object of the file that was copied it stands.
std::string dangling_target(const std::string& why, const H5O_token_t* object = nullptr);

}  // namespace bento::vol
