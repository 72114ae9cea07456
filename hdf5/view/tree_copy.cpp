// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "hdf5/view/tree_copy.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/base/hex.hpp"
#include "hdf5/base/error_bridge.hpp"
#include "hdf5/base/tokens.hpp"
#include "hdf5/view/group_properties.hpp"
#include "hdf5/view/symbol_table.hpp"

namespace bento::vol {

namespace {

// Not below the reserved name: a copy may be made into a container. And not our name: that of a
// deleted link stays readable in the file, which may be an ordinary one.
constexpr const char* kTypesGroup = ".types-while-copied";
constexpr std::string_view kDangling = "/.h5bento/not in this view: ";
constexpr std::string_view kStandsFor = "; object ";

/// For which object such a link stands. Nothing if it does not tell, as those of older versions.
std::optional<H5O_token_t> stands_for(std::string_view target) {
  H5O_token_t object{};
  constexpr std::size_t kDigits = 2 * sizeof object.__data;
  const std::size_t at = target.rfind(kStandsFor);
  if (at == std::string_view::npos || target.size() != at + kStandsFor.size() + kDigits)
    return std::nullopt;
  const char* digits = target.data() + at + kStandsFor.size();
  for (auto& byte : object.__data) {
    if (std::from_chars(digits, digits + 2, byte, 16).ptr != digits + 2) return std::nullopt;
    digits += 2;
  }
  return object;
}

std::string bytes_of(const H5O_token_t& token) {
  return {reinterpret_cast<const char*>(&token), sizeof token};
}

/// Names and infos first, since copying changes what an iteration stands on.
struct Link {
  std::string name;
  H5L_info2_t info;
};

herr_t collect(hid_t, const char* name, const H5L_info2_t* info, void* data) {
  try {
    static_cast<std::vector<Link>*>(data)->push_back({name, *info});
    return 0;
  } catch (...) {
    return -1;
  }
}

Result<bool> keeps_creation_order(hid_t group, const std::string& path) {
  const PlistHandle list(H5Gget_create_plist(group));
  unsigned flags = 0;
  if (H5Pget_link_creation_order(list.get(), &flags) < 0)
    return copy_failure(path, "its creation list is unreadable");
  return (flags & H5P_CRT_ORDER_TRACKED) != 0;
}

/// Objects in the order in which they lie in the file: so their metadata, and mostly their data,
/// is read from front to back. All other links come first.
void sort_by_place(std::vector<Link>& links) {
  const auto place = [](const Link& link) {
    return link.info.type == H5L_TYPE_HARD ? address_of(link.info.u.token) : 0;
  };
  std::ranges::stable_sort(links, {}, place);
}

}  // namespace

tl::unexpected<Error> copy_failure(const std::string& path, const char* what) {
  const std::string why = innermost_error();
  return fail(Code::kInternal,
              fmt::format("native view: '{}': {} ({})", path.empty() ? "/" : path, what,
                          why.empty() ? "the library gives no reason" : why));
}

std::string dangling_target(const std::string& why, const H5O_token_t* object) {
  std::string target = why;
  std::ranges::replace(target, '/', '|');  // one name, not a path
  target.insert(0, kDangling);
  if (object != nullptr)
    target.append(kStandsFor).append(hex(std::as_bytes(std::span(object->__data))));
  return target;
}

TreeCopy::TreeCopy(hid_t from, hid_t to, MakeDataset make, std::function<Status()> go_on,
                   std::string skip)
    : from_(from),
      to_(to),
      make_(std::move(make)),
      go_on_(std::move(go_on)),
      skip_(std::move(skip)),
      objects_(to),
      translator_(from, to, objects_) {}

// What the library gives of such a file (types, dataspaces, fill values) names places in it, which
// it would write into the copy as if they were there.
Status TreeCopy::check_own_messages() const {
  const PlistHandle list(H5Fget_create_plist(from_));
  unsigned indexes = 0;
  if (!list.valid() || H5Pget_shared_mesg_nindexes(list.get(), &indexes) < 0)
    return copy_failure("/", "the file's creation list is unreadable");
  if (indexes == 0) return {};
  return fail(Code::kUnsupported,
              "a file with shared object header messages (H5Pset_shared_mesg_nindexes) cannot be "
              "copied object by object");
}

Status TreeCopy::run() {
  BENTO_TRY(check_own_messages());
  const ObjectHandle root(H5Oopen(from_, "/", H5P_DEFAULT));
  const ObjectHandle copy(H5Oopen(to_, ".", H5P_DEFAULT));
  H5O_info2_t info{};
  H5O_info2_t copied{};
  if (H5Oget_info3(root.get(), &info, H5O_INFO_BASIC) < 0 ||
      H5Oget_info3(copy.get(), &copied, H5O_INFO_BASIC) < 0)
    return copy_failure("/", "unreadable");
  BENTO_TRY(note(info.token, copy.get(), false));
  groups_.push_back({info.token, copied.token, ""});
  while (!groups_.empty()) {
    const Group group = groups_.back();
    groups_.pop_back();
    BENTO_TRY(copy_links(group.from, group.to, group.path));
  }
  for (std::size_t i = 0; i < pending_.size(); ++i) {
    Pending object = pending_[i];
    if (object.done) continue;
    BENTO_TRY(go_on_());
    const ObjectHandle from(H5Oopen_by_token(from_, object.from));
    const ObjectHandle to(H5Oopen_by_token(to_, object.to));
    if (!from.valid() || !to.valid()) return copy_failure("object", "cannot be opened again");
    Status filled = object.data ? copy_data(from.get(), to.get()) : Status{};
    if (filled && object.fill) filled = object.fill(to.get(), translator_);
    if (!filled) {
      BENTO_TRY(go_on_());
      BENTO_TRY(leave_out(object, filled.error()));
      continue;
    }
    if (!object.comment) BENTO_TRY(copy_comment(from.get(), to.get()));
    BENTO_TRY(copy_attributes(from.get(), to.get(), object.attributes, Until::kEnd));
  }
  return release_types();
}

Status TreeCopy::note(const H5O_token_t& from, hid_t copy, bool data) {
  H5O_info2_t info{};
  if (H5Oget_info3(copy, &info, H5O_INFO_BASIC) < 0) return copy_failure("object", "has no token");
  objects_.add(from, info.token);
  if (data) with_data_[bytes_of(from)] = pending_.size();
  pending_.push_back({from, info.token, data, {}, {}, false, false, {}});
  return {};
}

void TreeCopy::note_path(const H5O_token_t& from, const std::string& path) {
  const auto found = with_data_.find(bytes_of(from));
  if (found != with_data_.end()) pending_[found->second].paths.push_back(path);
}

Status TreeCopy::leave_out(const Pending& object, const Error& why) {
  const std::string first = object.paths.empty() ? "dataset" : object.paths.front();
  if (!left_out_ || !costs_one_dataset(why))
    return fail(Error(why).with_context(fmt::format("native view: '{}'", first)));
  objects_.forget(object.from);
  for (const std::string& path : object.paths) {
    const char* const name = path.c_str() + 1;
    H5L_info2_t info{};
    const PlistHandle list(H5Pcreate(H5P_LINK_CREATE));
    if (H5Lget_info2(to_, name, &info, H5P_DEFAULT) < 0 ||
        H5Pset_char_encoding(list.get(), info.cset) < 0 || H5Ldelete(to_, name, H5P_DEFAULT) < 0 ||
        H5Lcreate_soft(dangling_target(why.text, &object.from).c_str(), to_, name, list.get(),
                       H5P_DEFAULT) < 0)
      return copy_failure(path, "its link cannot be replaced");
  }
  left_out_(first, why.text);
  return {};
}

Status TreeCopy::leave_out_made(const std::string& path, const Error& why) {
  BENTO_TRY(go_on_());
  Pending& object = pending_[*std::exchange(made_, std::nullopt)];
  object.done = true;
  object.paths = {path};
  BENTO_TRY(leave_out(object, why));
  absent_[bytes_of(object.from)] = why.text;
  return {};
}

Status TreeCopy::leave_out_unopened(const HardLink& link, const std::string& path) {
  Error why = copy_failure(path, "cannot be opened").value();
  // What fails again is the object's own, as a type is that this library does not know.
  if (!left_out_ || ObjectHandle(H5Oopen(link.group, link.name, H5P_DEFAULT)).valid())
    return fail(std::move(why));
  left_out_(path, why.text);
  absent_[bytes_of(link.object)] = std::move(why.text);
  return {};
}

Status TreeCopy::copy_links(const H5O_token_t& from, const H5O_token_t& to,
                            const std::string& path) {
  const ObjectHandle old(H5Oopen_by_token(from_, from));
  const ObjectHandle fresh(H5Oopen_by_token(to_, to));
  std::vector<Link> links;
  BENTO_ASSIGN(const bool as_created, keeps_creation_order(old.get(), path));
  if (H5Literate2(old.get(), as_created ? H5_INDEX_CRT_ORDER : H5_INDEX_NAME, H5_ITER_INC, nullptr,
                  collect, &links) < 0)
    return copy_failure(path, "its links cannot be listed");
  if (!as_created) sort_by_place(links);
  const Destination destination{fresh.get(), to, has_symbol_table(fresh.get())};
  for (const auto& link : links) {
    if (path.empty() && link.name == skip_) continue;
    BENTO_TRY(go_on_());
    BENTO_TRY(
        copy_link(old.get(), destination, link.name.c_str(), link.info, path + "/" + link.name));
  }
  return {};
}

Status TreeCopy::copy_link(hid_t from, const Destination& to, const char* name,
                           const H5L_info2_t& info, const std::string& path) {
  PlistHandle own;
  if (info.cset != H5T_CSET_ASCII) {
    own = PlistHandle(H5Pcreate(H5P_LINK_CREATE));
    if (H5Pset_char_encoding(own.get(), info.cset) < 0) return copy_failure(path, "character set");
  }
  const hid_t list = own.valid() ? own.get() : H5P_DEFAULT;
  if (info.type == H5L_TYPE_HARD) return copy_hard_link({from, name, info.u.token}, to, list, path);
  std::vector<char> value(info.u.val_size + 1, '\0');
  if (info.u.val_size > 0 && H5Lget_val(from, name, value.data(), info.u.val_size, H5P_DEFAULT) < 0)
    return copy_failure(path, "its link value is unreadable");
  herr_t made = -1;
  if (info.type == H5L_TYPE_SOFT && bring_absent_ &&
      std::string_view(value.data()).starts_with(kDangling)) {
    const auto object = stands_for(value.data());
    return bring_absent_(object ? &*object : nullptr, to.group, name, list, path);
  }
  if (info.type == H5L_TYPE_SOFT) {
    made = make_link(nullptr, value.data(), to.group, name, list);
  } else if (info.type == H5L_TYPE_EXTERNAL) {
    const char* file = nullptr;
    const char* object = nullptr;
    unsigned flags = 0;
    if (H5Lunpack_elink_val(value.data(), info.u.val_size, &flags, &file, &object) >= 0)
      made = make_link(file, object, to.group, name, list);
  } else {
    made =
        H5Lcreate_ud(to.group, name, info.type, value.data(), info.u.val_size, list, H5P_DEFAULT);
  }
  return made < 0 ? Status(copy_failure(path, "its link cannot be made")) : Status{};
}

herr_t TreeCopy::make_link(const char* file, const char* path, hid_t to, const char* name,
                           hid_t lcpl) const {
  const auto target = retarget_ ? retarget_(file, path) : std::nullopt;
  if (target) {
    file = target->file.empty() ? nullptr : target->file.c_str();
    path = target->path.c_str();
  }
  return file == nullptr ? H5Lcreate_soft(path, to, name, lcpl, H5P_DEFAULT)
                         : H5Lcreate_external(file, path, to, name, lcpl, H5P_DEFAULT);
}

Status TreeCopy::copy_hard_link(const HardLink& link, const Destination& to, hid_t lcpl,
                                const std::string& path) {
  const H5O_token_t& token = link.object;
  const auto link_to = [&](hid_t object) -> Status {
    if (H5Olink(object, to.group, link.name, lcpl, H5P_DEFAULT) < 0)
      return copy_failure(path, "its link cannot be made");
    return {};
  };
  if (const H5O_token_t* const known = objects_.find(token)) {
    const ObjectHandle object(H5Oopen_by_token(to_, *known));
    note_path(token, path);
    return link_to(object.get());
  }
  auto absent = absent_.find(bytes_of(token));
  if (absent == absent_.end() && copy_whole_) {
    BENTO_ASSIGN(const WholeCopy copy, copy_whole_(link, to, lcpl));
    if (copy.token)
      objects_.add(token, *copy.token);
    else if (copy.made)
      objects_.add(token, path.substr(1));
    if (copy.made) return {};
  }
  if (absent == absent_.end()) {
    const ObjectHandle old(H5Oopen(link.group, link.name, H5P_DEFAULT));
    if (!old.valid()) {
      BENTO_TRY(leave_out_unopened(link, path));
    } else {
      BENTO_ASSIGN(const ObjectHandle made, make_object(old.get(), token, path));
      if (made.valid()) {
        note_path(token, path);
        BENTO_TRY(link_to(made.get()));
        const auto fill = std::exchange(fill_, {});
        if (const Status filled = fill ? fill(made.get()) : Status{}; !filled)
          return leave_out_made(path, filled.error());
        return copy_what_is_known(old.get(), made.get());
      }
    }
    absent = absent_.find(bytes_of(token));
  }
  if (H5Lcreate_soft(dangling_target(absent->second, &token).c_str(), to.group, link.name, lcpl,
                     H5P_DEFAULT) < 0)
    return copy_failure(path, "its link cannot be made");
  return {};
}

// Both are open here: to open them once more takes longer than what is done with them.
Status TreeCopy::copy_what_is_known(hid_t from, hid_t to) {
  if (!made_) return {};
  const std::size_t at = *std::exchange(made_, std::nullopt);
  BENTO_TRY(copy_comment(from, to));
  AttributePlace copied;
  BENTO_ASSIGN(const bool all, copy_attributes(from, to, copied, Until::kReference));
  pending_[at].comment = true;
  pending_[at].attributes = copied;
  pending_[at].done = all && !pending_[at].data && !pending_[at].fill;
  return {};
}

Result<ObjectHandle> TreeCopy::make_object(hid_t from, const H5O_token_t& token,
                                           const std::string& path) {
  ObjectHandle made;
  bool data = false;
  std::function<Status(hid_t, ReferenceTranslator&)> fill_last;
  switch (H5Iget_type(from)) {
    case H5I_GROUP: {
      const PlistHandle list(H5Pcreate(H5P_GROUP_CREATE));
      BENTO_TRY(copy_group_properties(from, list.get(), times_));
      made = ObjectHandle(make_group_ ? make_group_(from, list.get()).release()
                                      : H5Gcreate_anon(to_, list.get(), H5P_DEFAULT));
      if (!made.valid()) break;
      H5O_info2_t info{};
      if (H5Oget_info3(made.get(), &info, H5O_INFO_BASIC) < 0) break;
      groups_.push_back({token, info.token, path});
      break;
    }
    case H5I_DATATYPE: {
      made_.reset();
      BENTO_ASSIGN(TypeHandle type, type_in_copy(from));
      return ObjectHandle(type.release());  // noted by type_in_copy
    }
    case H5I_DATASET: {
      const TypeHandle old_type(H5Dget_type(from));
      BENTO_ASSIGN(const TypeHandle type, type_in_copy(old_type.get()));
      auto dataset = make_(from, token, type.get(), path);
      if (!dataset) return fail(std::move(dataset).error().with_context(path));
      if (!dataset->dataset.valid()) {
        absent_[bytes_of(token)] = dataset->why_not;
        return made;
      }
      data = dataset->data_needed;
      fill_ = std::move(dataset->fill);
      fill_last = std::move(dataset->fill_last);
      made = ObjectHandle(dataset->dataset.release());
      break;
    }
    default:
      break;
  }
  if (!made.valid())
    return fail(Code::kInternal, fmt::format("native view: '{}' cannot be made", path));
  BENTO_TRY(note(token, made.get(), data));
  if (fill_last) with_data_[bytes_of(token)] = pending_.size() - 1;
  pending_.back().fill = std::move(fill_last);
  made_ = pending_.size() - 1;
  return made;
}

Result<TypeHandle> TreeCopy::type_in_copy(hid_t type) {
  const htri_t committed = H5Tcommitted(type);
  if (committed < 0) return fail(Code::kInternal, "native view: a type is unreadable");
  if (committed == 0) {
    TypeHandle plain(H5Tcopy(type));
    if (!plain.valid()) return fail(Code::kInternal, "native view: a type cannot be copied");
    return plain;
  }
  H5O_info2_t info{};
  if (H5Oget_info3(type, &info, H5O_INFO_BASIC) < 0)
    return fail(Code::kInternal, "native view: a committed type has no token");
  if (const H5O_token_t* const known = objects_.find(info.token)) {
    TypeHandle same(H5Oopen_by_token(to_, *known));
    if (!same.valid())
      return fail(Code::kInternal, "native view: a committed type cannot be opened again");
    return same;
  }
  TypeHandle copy(H5Tcopy(type));
  const PlistHandle list(H5Tget_create_plist(type));
  if (times_ == ObjectTimes::kNone) H5Pset_obj_track_times(list.get(), false);
  if (H5Tcommit_anon(to_, copy.get(), list.get(), H5P_DEFAULT) < 0)
    return fail(Code::kInternal, "native view: a committed type cannot be made");
  BENTO_TRY(note(info.token, copy.get(), false));
  BENTO_TRY(hold_type(copy.get()));
  return copy;
}

// A type that a dataset uses may be met before its own link, and an anonymous object must not stay
// one for long (docs/hdf5-traps.md): so it is linked from a group that goes at the end.
Status TreeCopy::hold_type(hid_t type) {
  if (!types_.valid()) {
    const PlistHandle list(H5Pcreate(H5P_GROUP_CREATE));
    H5Pset_obj_track_times(list.get(), false);
    types_ = GroupHandle(H5Gcreate2(to_, kTypesGroup, H5P_DEFAULT, list.get(), H5P_DEFAULT));
  }
  const std::string name = fmt::format("{}", held_types_++);
  if (H5Olink(type, types_.get(), name.c_str(), H5P_DEFAULT, H5P_DEFAULT) < 0)
    return copy_failure("committed type", "cannot be kept");
  return {};
}

Status TreeCopy::release_types() {
  if (!types_.valid()) return {};
  types_.reset();
  if (H5Ldelete(to_, kTypesGroup, H5P_DEFAULT) < 0)
    return copy_failure(kTypesGroup, "cannot be removed");
  return {};
}

}  // namespace bento::vol
