// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "vol/library/objects.hpp"

#include <map>
#include <utility>

#include <fmt/format.h>

#include "core/container/container.hpp"
#include "hdf5/base/error_bridge.hpp"
#include "hdf5/base/handle.hpp"
#include "hdf5/base/quiet_errors.hpp"
#include "vol/file/file_context.hpp"
#include "vol/library/bento_list.hpp"

namespace bento::vol {

namespace {

std::string type_text(hid_t type) {
  const std::size_t bytes = H5Tget_size(type);
  const bool swapped = H5Tget_order(type) == H5T_ORDER_BE;
  const char* const order = bytes > 1 && swapped ? " big-endian" : "";
  switch (H5Tget_class(type)) {
    case H5T_INTEGER:
      return fmt::format("{}int{}{}", H5Tget_sign(type) == H5T_SGN_NONE ? "u" : "", 8 * bytes,
                         order);
    case H5T_FLOAT:
      return fmt::format("float{}{}", 8 * bytes, order);
    case H5T_STRING:
      return H5Tis_variable_str(type) > 0 ? "string" : fmt::format("string of {} bytes", bytes);
    case H5T_COMPOUND:
      return fmt::format("compound of {} members, {} bytes", H5Tget_nmembers(type), bytes);
    case H5T_ENUM:
      return fmt::format("enumeration of {} values", H5Tget_nmembers(type));
    case H5T_ARRAY:
      return fmt::format("array of {} bytes", bytes);
    case H5T_VLEN:
      return "variable-length";
    case H5T_REFERENCE:
      return "reference";
    case H5T_OPAQUE:
      return fmt::format("opaque of {} bytes", bytes);
    case H5T_BITFIELD:
      return fmt::format("bitfield{}{}", 8 * bytes, order);
    case H5T_TIME:
      return fmt::format("time{}{}", 8 * bytes, order);
    default:
      return "unknown type";
  }
}

std::vector<std::string> filter_names(hid_t dcpl) {
  std::vector<std::string> names;
  const int count = H5Pget_nfilters(dcpl);
  for (int i = 0; i < count; ++i) {
    unsigned flags = 0;
    std::size_t values = 0;
    unsigned info = 0;
    char name[64] = {};
    const H5Z_filter_t filter = H5Pget_filter2(dcpl, static_cast<unsigned>(i), &flags, &values,
                                               nullptr, sizeof name, name, &info);
    names.push_back(name[0] != '\0' ? std::string(name) : fmt::format("filter {}", filter));
  }
  return names;
}

ListedObject named(const std::string& path, ObjectKind kind) {
  ListedObject object;
  object.path = path;
  object.kind = kind;
  return object;
}

class Lister {
 public:
  Lister(Container& container, hid_t file, const ListOptions& options)
      : container_(container), file_(file), options_(options), numbers_(numbers_of(container)) {}

  Result<std::vector<ListedObject>> run() {
    H5O_info2_t info{};
    if (H5Oget_info_by_name3(file_, options_.path.c_str(), &info, H5O_INFO_BASIC, H5P_DEFAULT) < 0)
      return fail(Code::kNotFound,
                  fmt::format("there is no '{}' in '{}'", options_.path, container_.path()));
    std::string path = options_.path;
    while (path.size() > 1 && path.back() == '/') path.pop_back();
    if (path.front() != '/') path.insert(0, 1, '/');
    if (info.type != H5O_TYPE_GROUP) {
      BENTO_TRY(object(path));
      return std::move(list_);
    }
    seen_[token_bytes(info.token)] = path;
    std::vector<std::string> todo{path};  // of groups; the last one is the next
    while (!todo.empty()) {
      const std::string group = std::move(todo.back());
      todo.pop_back();
      if (group != path) BENTO_TRY(object(group));
      BENTO_TRY(members(group, todo));
    }
    return std::move(list_);
  }

 private:
  struct Names {
    std::vector<std::pair<std::string, H5L_info2_t>> found;
  };
  static herr_t note(hid_t, const char* name, const H5L_info2_t* info, void* data) {
    try {
      static_cast<Names*>(data)->found.emplace_back(name, *info);
      return 0;
    } catch (...) {
      return -1;
    }
  }

  // Members that are no groups are listed at once; of groups, the first is to be on top of `todo`.
  Status members(const std::string& group, std::vector<std::string>& todo) {
    const GroupHandle opened(H5Gopen2(file_, group.c_str(), H5P_DEFAULT));
    Names names;
    hsize_t at = 0;
    if (!opened.valid() ||
        H5Literate2(opened.get(), H5_INDEX_NAME, H5_ITER_INC, &at, &note, &names) < 0)
      return fail(Code::kCorrupt,
                  fmt::format("'{}': group '{}' cannot be read", container_.path(), group));
    std::vector<std::string> groups;
    for (const auto& [name, info] : names.found) {
      const std::string path = (group == "/" ? "" : group) + "/" + name;
      if (info.type != H5L_TYPE_HARD) {
        link(opened.get(), name, path, info);
        continue;
      }
      H5O_info2_t object_info{};
      const bool read = H5Oget_info_by_name3(opened.get(), name.c_str(), &object_info,
                                             H5O_INFO_BASIC, H5P_DEFAULT) >= 0;
      const auto [first, fresh] = seen_.try_emplace(token_bytes(object_info.token), path);
      if (read && !fresh) {
        ListedObject again = named(path, kind_of(object_info.type));
        again.target = first->second;
        list_.push_back(std::move(again));
      } else if (read && object_info.type == H5O_TYPE_GROUP && options_.recursive) {
        groups.push_back(path);
      } else {
        BENTO_TRY(object(path));
      }
    }
    todo.insert(todo.end(), groups.rbegin(), groups.rend());
    return {};
  }

  void link(hid_t group, const std::string& name, const std::string& path,
            const H5L_info2_t& info) {
    ListedObject listed = named(path, ObjectKind::kOther);
    std::string value(info.u.val_size + 1, '\0');
    const bool read =
        H5Lget_val(group, name.c_str(), value.data(), info.u.val_size, H5P_DEFAULT) >= 0;
    if (info.type == H5L_TYPE_SOFT) {
      listed.kind = ObjectKind::kSoftLink;
      if (read) listed.target = value.c_str();
    } else if (info.type == H5L_TYPE_EXTERNAL) {
      listed.kind = ObjectKind::kExternalLink;
      const char* file = nullptr;
      const char* object = nullptr;
      if (read && H5Lunpack_elink_val(value.data(), info.u.val_size, nullptr, &file, &object) >= 0)
        listed.target = fmt::format("{}:{}", file, object);
    }
    list_.push_back(std::move(listed));
  }

  static ObjectKind kind_of(H5O_type_t type) {
    switch (type) {
      case H5O_TYPE_GROUP:
        return ObjectKind::kGroup;
      case H5O_TYPE_DATASET:
        return ObjectKind::kDataset;
      case H5O_TYPE_NAMED_DATATYPE:
        return ObjectKind::kType;
      default:
        return ObjectKind::kOther;
    }
  }

  Status object(const std::string& path) {
    const unsigned what = H5O_INFO_BASIC | (options_.details ? H5O_INFO_NUM_ATTRS : 0U);
    H5O_info2_t info{};
    if (H5Oget_info_by_name3(file_, path.c_str(), &info, what, H5P_DEFAULT) < 0)
      return fail(Code::kCorrupt,
                  fmt::format("'{}': '{}' cannot be read", container_.path(), path));
    ListedObject listed = named(path, kind_of(info.type));
    if (options_.details) listed.attributes = info.num_attrs;
    if (listed.kind == ObjectKind::kDataset) BENTO_TRY(dataset(info, listed));
    if (listed.kind == ObjectKind::kType) {
      const TypeHandle type(H5Topen2(file_, path.c_str(), H5P_DEFAULT));
      if (type.valid()) listed.type = type_text(type.get());
    }
    list_.push_back(std::move(listed));
    return {};
  }

  Status dataset(const H5O_info2_t& info, ListedObject& listed) {
    const DatasetHandle opened(H5Dopen2(file_, listed.path.c_str(), H5P_DEFAULT));
    const SpaceHandle space(H5Dget_space(opened.get()));
    const TypeHandle type(H5Dget_type(opened.get()));
    const PlistHandle dcpl(H5Dget_create_plist(opened.get()));
    if (!space.valid() || !type.valid() || !dcpl.valid())
      return fail(Code::kCorrupt,
                  fmt::format("'{}': dataset '{}' cannot be read", container_.path(), listed.path));
    listed.type = type_text(type.get());
    listed.null_space = H5Sget_simple_extent_type(space.get()) == H5S_NULL;
    const int rank = H5Sget_simple_extent_ndims(space.get());
    std::vector<hsize_t> dims(static_cast<std::size_t>(std::max(rank, 0)));
    std::vector<hsize_t> limit(dims.size());
    H5Sget_simple_extent_dims(space.get(), dims.data(), limit.data());
    listed.dims.assign(dims.begin(), dims.end());
    listed.limit.assign(limit.begin(), limit.end());
    if (H5Pget_layout(dcpl.get()) == H5D_CHUNKED) {
      std::vector<hsize_t> chunk(dims.size());
      if (H5Pget_chunk(dcpl.get(), rank, chunk.data()) >= 0)
        listed.chunk.assign(chunk.begin(), chunk.end());
    }
    listed.filters = filter_names(dcpl.get());
    const auto* const number = numbers_.find(token_bytes(info.token));
    if (number == nullptr) return {};
    listed.number = *number;
    return options_.details ? pieces(listed) : Status{};
  }

  Status pieces(ListedObject& listed) {
    BENTO_ASSIGN(CommittedIndex* const committed, container_.committed());
    BENTO_ASSIGN(const RecordLookup all,
                 committed->find_all(*listed.number, static_cast<unsigned>(listed.dims.size())));
    listed.pieces = all.records.size();
    for (const auto& record : all.records) listed.stored += record.stored_bytes;
    return {};
  }

  Container& container_;
  hid_t file_;
  const ListOptions& options_;
  NumbersByToken numbers_;
  std::map<TokenBytes, std::string>
      seen_;  ///< hard links: of each object the path it is listed with
  std::vector<ListedObject> list_;
};

}  // namespace

Result<std::vector<ListedObject>> list_objects(const std::string& file,
                                               const ListOptions& options) {
  const QuietErrors quiet;
  std::uint64_t before = 0;
  for (;;) {
    BENTO_ASSIGN(const auto container, Container::open(file, false, {}, make_self_communicator()));
    // Through the connector, which knows what creation lists were before it changed them. As of the
    // same step, even if a writer goes on meanwhile.
    const std::uint64_t step = container->step().number();
    BENTO_ASSIGN(const PlistHandle list, bento_list(fmt::format("step={}", step)));
    const FileHandle opened(H5Fopen(file.c_str(), H5F_ACC_RDONLY, list.get()));
    if (opened.valid()) return Lister(*container, opened.get(), options).run();
    // A writer that keeps no older steps may have gone over this one: then there is a newer one.
    if (step == before)
      return fail(Code::kCorrupt, fmt::format("'{}' cannot be opened as of step {}: {}", file, step,
                                              innermost_error()));
    before = step;
  }
}

}  // namespace bento::vol
