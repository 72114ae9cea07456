// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
//
// Attributes and data of the objects of a copied tree.
#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "hdf5/base/error_bridge.hpp"
#include "hdf5/base/library_text.hpp"
#include "hdf5/base/types.hpp"
#include "hdf5/data/missing_filter.hpp"
#include "hdf5/data/selection.hpp"
#include "hdf5/data/spaces.hpp"
#include "hdf5/view/tree_copy.hpp"
#include "hdf5/view/written_chunks.hpp"

namespace bento::vol {

namespace {

/// Number of elements; none for a null dataspace.
Result<std::size_t> count_of(hid_t space, const std::string& path) {
  const H5S_class_t kind = H5Sget_simple_extent_type(space);
  const hssize_t count = kind == H5S_NULL ? 0 : H5Sget_simple_extent_npoints(space);
  if (kind == H5S_NO_CLASS || count < 0) return copy_failure(path, "its extent is unreadable");
  return static_cast<std::size_t>(count);
}

}  // namespace

Status TreeCopy::copy_comment(hid_t from, hid_t to) {
  const auto comment = library_text(
      [&](char* room, std::size_t bytes) { return H5Oget_comment(from, room, bytes); });
  if (!comment) return copy_failure("comment", "unreadable");
  if (!comment->empty() && H5Oset_comment(to, comment->c_str()) < 0)
    return copy_failure("comment", "cannot be copied");
  return {};
}

namespace {

herr_t collect_name(hid_t, const char* name, const H5A_info_t*, void* names) {
  try {
    static_cast<std::vector<std::string>*>(names)->emplace_back(name);
    return 0;
  } catch (...) {
    return -1;
  }
}

/// The attributes of one object, in the order in which they were made if the object knows it. The
/// library reads all of them to open one by its number, so many are opened by name.
class AttributesInOrder {
 public:
  /// `order`: that of an earlier pass over the same object; set by the first.
  AttributesInOrder(hid_t object, hsize_t count, std::optional<H5_index_t>& order)
      : object_(object), count_(count), order_(order) {}

  Result<AttributeHandle> open(hsize_t at, H5A_info_t& kind) {
    if (!begun_) BENTO_TRY(begin(at, kind));
    AttributeHandle opened(names_.empty() ? H5Aopen_by_idx(object_, ".", *order_, H5_ITER_INC, at,
                                                           H5P_DEFAULT, H5P_DEFAULT)
                                          : H5Aopen(object_, names_.at(at).c_str(), H5P_DEFAULT));
    if (!opened.valid() || H5Aget_info(opened.get(), &kind) < 0)
      return copy_failure("attribute", "cannot be opened");
    return opened;
  }

 private:
  static constexpr hsize_t kFew = 8;  // as many as the library keeps in the object header

  Status begin(hsize_t at, H5A_info_t& kind) {
    begun_ = true;
    if (!order_) {
      order_ = H5_INDEX_NAME;
      if (count_ == 1) return {};
      BENTO_ASSIGN(const AttributeHandle any, open(at, kind));
      if (kind.corder_valid) order_ = H5_INDEX_CRT_ORDER;
    }
    if (count_ <= kFew) return {};
    if (H5Aiterate2(object_, *order_, H5_ITER_INC, nullptr, collect_name, &names_) < 0 ||
        names_.size() != count_)
      return copy_failure("attributes", "cannot be listed");
    return {};
  }

  hid_t object_;
  hsize_t count_;
  std::optional<H5_index_t>& order_;
  bool begun_ = false;
  std::vector<std::string> names_;
};

std::string name_of_object(hid_t object) {
  const auto name =
      library_text([&](char* room, std::size_t bytes) { return H5Iget_name(object, room, bytes); });
  return name && !name->empty() ? *name : "an object";
}

}  // namespace

// An attribute that the library cannot open it meets again when it looks for the others.
Result<bool> TreeCopy::copy_attributes(hid_t from, hid_t to, AttributePlace& place, Until until) {
  H5O_info2_t info{};
  if (H5Oget_info3(from, &info, H5O_INFO_NUM_ATTRS) < 0)
    return copy_failure("attributes", "unreadable");
  AttributesInOrder attributes(from, info.num_attrs, place.order);
  for (; place.next < info.num_attrs; ++place.next) {
    H5A_info_t kind{};
    auto old = attributes.open(place.next, kind);
    if (!old) {
      // What fails again is the attribute's own.
      if (!left_out_ || attributes.open(place.next, kind)) return fail(std::move(old).error());
      left_out_(name_of_object(from) + ": attributes", old.error().text);
      place.next = info.num_attrs;
      return true;
    }
    BENTO_ASSIGN(const bool copied, copy_attribute(old->get(), kind, to, until));
    if (!copied) return false;
  }
  return true;
}

namespace {

/// Elements in memory, one behind the other; variable-length parts and what references hold are
/// given back at the end.
class Values {
 public:
  // A dataspace of their own: H5Treclaim() divides by zero where one has 32 dimensions. Made before
  // there is anything to give back.
  Values(hid_t type, hsize_t elements)
      : type_(type),
        row_(H5Screate_simple(1, &elements, nullptr)),
        bytes_(static_cast<std::size_t>(elements) * H5Tget_size(type)) {}
  ~Values() {
    if (filled_) H5Treclaim(type_, row_.get(), H5P_DEFAULT, bytes_.data());
  }
  Values(const Values&) = delete;
  Values& operator=(const Values&) = delete;
  [[nodiscard]] bool ready() const { return row_.valid(); }
  [[nodiscard]] hid_t space() const { return row_.get(); }  ///< of one dimension
  void* data() { return bytes_.data(); }
  void filled() { filled_ = has_variable_length(type_) || has_reference(type_); }

 private:
  hid_t type_;
  SpaceHandle row_;
  std::vector<std::byte> bytes_;
  bool filled_ = false;
};

}  // namespace

namespace {

Result<std::string> name_of(hid_t attribute) {
  std::array<char, 64> room{};
  const ssize_t length = H5Aget_name(attribute, room.size(), room.data());
  if (length < 0) return copy_failure("attribute", "its name is unreadable");
  std::string name(static_cast<std::size_t>(length), '\0');
  if (name.size() < room.size())
    std::copy_n(room.data(), name.size(), name.data());
  else if (H5Aget_name(attribute, name.size() + 1, name.data()) < 0)
    return copy_failure("attribute", "its name is unreadable");
  return name;
}

/// All that an attribute's creation list says, and a copy of the list costs more than all else.
Result<PlistHandle> creation_list(const H5A_info_t& kind) {
  PlistHandle list;
  if (kind.cset == H5T_CSET_ASCII) return list;
  list = PlistHandle(H5Pcreate(H5P_ATTRIBUTE_CREATE));
  if (H5Pset_char_encoding(list.get(), kind.cset) < 0)
    return copy_failure("attribute", "character set");
  return list;
}

}  // namespace

Result<bool> TreeCopy::copy_attribute(hid_t from, const H5A_info_t& kind, hid_t to, Until until) {
  const TypeHandle type(H5Aget_type(from));
  if (until == Until::kReference && type.valid() && has_reference(type.get())) return false;
  BENTO_ASSIGN(const std::string name, name_of(from));
  const SpaceHandle space(H5Aget_space(from));
  BENTO_ASSIGN(const PlistHandle list, creation_list(kind));
  if (!type.valid() || !space.valid()) return copy_failure("attribute " + name, "unreadable");
  BENTO_ASSIGN(const TypeHandle copied_type, type_in_copy(type.get()));
  const AttributeHandle copy(H5Acreate2(to, name.c_str(), copied_type.get(), space.get(),
                                        list.valid() ? list.get() : H5P_DEFAULT, H5P_DEFAULT));
  if (!copy.valid()) return copy_failure("attribute " + name, "cannot be made");
  BENTO_ASSIGN(const std::size_t count, count_of(space.get(), name));
  if (count == 0) return true;
  const std::size_t size = H5Tget_size(type.get());
  if (size == 0) return copy_failure("attribute " + name, "its type is unreadable");
  Values values(type.get(), count);
  if (!values.ready() || H5Aread(from, type.get(), values.data()) < 0)
    return copy_failure("attribute " + name, "cannot be read");
  values.filled();
  BENTO_TRY(translator_.translate(type.get(), values.data(), count));
  if (H5Awrite(copy.get(), type.get(), values.data()) < 0)
    return copy_failure("attribute " + name, "cannot be written");
  return true;
}

namespace {

/// Damage, or a filter that this library has not: it concerns no other object.
tl::unexpected<Error> unreadable_data(hid_t dcpl) {
  const std::string why = innermost_error();
  const std::string missing = missing_filter(dcpl);
  return fail(Code::kCorrupt, "its data cannot be read: " +
                                  (missing.empty() ? why : "this HDF5 library has no " + missing));
}

}  // namespace

Status TreeCopy::copy_data(hid_t from, hid_t to) {
  const TypeHandle type(H5Dget_type(from));
  const SpaceHandle space(H5Dget_space(from));
  const PlistHandle list(H5Dget_create_plist(from));
  if (!type.valid() || !space.valid() || !list.valid())
    return copy_failure("dataset", "unreadable");
  BENTO_ASSIGN(const std::size_t count, count_of(space.get(), "dataset"));
  if (count == 0) return {};
  // Nothing was ever written: the fill value says it. (A virtual dataset does not know.)
  const H5D_layout_t layout = H5Pget_layout(list.get());
  H5D_space_status_t status = H5D_SPACE_STATUS_ERROR;
  if (layout == H5D_LAYOUT_ERROR || H5Dget_space_status(from, &status) < 0)
    return copy_failure("dataset", "its storage is unreadable");
  if (layout != H5D_VIRTUAL && status == H5D_SPACE_STATUS_NOT_ALLOCATED) return {};
  if (has_variable_length(type.get()) || has_reference(type.get()))
    return copy_in_parts(from, to, type.get(), space.get(), list.get());
  const std::size_t size = H5Tget_size(type.get());
  if (size == 0) return copy_failure("dataset", "its type is unreadable");
  constexpr std::size_t kPieceBytes = 8u << 20;
  BENTO_ASSIGN(const Dims extent, extent_of(space.get()));
  std::vector<std::byte> piece;
  const auto copy = [&](const Box& box) -> Status {
    piece.resize(static_cast<std::size_t>(box.elements()) * size);
    const SpaceHandle memory = simple_space(box.count);
    if (!memory.valid()) return copy_failure("dataset", "its data cannot be read");
    if (box.rank() > 0) BENTO_TRY(select_box(space.get(), box));
    if (H5Dread(from, type.get(), memory.get(), space.get(), H5P_DEFAULT, piece.data()) < 0)
      return unreadable_data(list.get());
    if (H5Dwrite(to, type.get(), memory.get(), space.get(), H5P_DEFAULT, piece.data()) < 0)
      return copy_failure("dataset", "its data cannot be written");
    return {};
  };
  BENTO_ASSIGN(const auto parts, parts_with_data(from, list.get(), extent));
  for (const Box& part : parts)
    BENTO_TRY(for_each_part(part, std::max<std::size_t>(1, kPieceBytes / size), copy));
  return {};
}

// Values of variable length may be large: few elements at a time bound what is in memory.
Status TreeCopy::copy_in_parts(hid_t from, hid_t to, hid_t type, hid_t space, hid_t dcpl) {
  constexpr std::size_t kElements = 4096;
  const std::size_t size = H5Tget_size(type);
  if (size == 0) return copy_failure("dataset", "its type is unreadable");
  BENTO_ASSIGN(const Dims extent, extent_of(space));
  const auto copy = [&](const Box& box) -> Status {
    Values values(type, box.elements());
    if (!values.ready()) return copy_failure("dataset", "its data cannot be read");
    if (box.rank() > 0) BENTO_TRY(select_box(space, box));
    if (H5Dread(from, type, values.space(), space, H5P_DEFAULT, values.data()) < 0)
      return unreadable_data(dcpl);
    values.filled();
    BENTO_TRY(translator_.translate(type, values.data(), box.elements()));
    if (H5Dwrite(to, type, values.space(), space, H5P_DEFAULT, values.data()) < 0)
      return copy_failure("dataset", "its data cannot be written");
    return {};
  };
  BENTO_ASSIGN(const bool by_chunks, has_unreadable_chunks(dcpl));
  if (!by_chunks || has_reference(type)) return for_each_part(Box::whole(extent), kElements, copy);
  BENTO_ASSIGN(const WrittenChunks chunks, written_chunks(from, dcpl, extent));
  for (const Box& box : chunks.written) BENTO_TRY(for_each_part(box, kElements, copy));
  Values value(type, 1);
  if (!value.ready() || H5Pget_fill_value(dcpl, type, value.data()) < 0)
    return copy_failure("dataset", "its fill value is unreadable");
  value.filled();
  const auto fill = [&](const Box& box) -> Status {
    const SpaceHandle memory = simple_space(box.count);
    std::vector<std::byte> same(static_cast<std::size_t>(box.elements() * size));
    for (std::size_t at = 0; at < same.size(); at += size)
      std::memcpy(same.data() + at, value.data(), size);
    BENTO_TRY(select_box(space, box));
    if (!memory.valid() || H5Dwrite(to, type, memory.get(), space, H5P_DEFAULT, same.data()) < 0)
      return copy_failure("dataset", "its data cannot be written");
    return {};
  };
  for (const Box& box : chunks.others) BENTO_TRY(for_each_part(box, kElements, fill));
  return {};
}

}  // namespace bento::vol
