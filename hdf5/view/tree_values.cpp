// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
//
// Attributes and data of the objects of a copied tree.
#include <algorithm>
#include <vector>

#include "hdf5/base/types.hpp"
#include "hdf5/data/selection.hpp"
#include "hdf5/view/spaces.hpp"
#include "hdf5/view/tree_copy.hpp"

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

Status TreeCopy::copy_attributes(hid_t from, hid_t to) {
  const ssize_t length = H5Oget_comment(from, nullptr, 0);
  if (length < 0) return copy_failure("comment", "unreadable");
  if (length > 0) {
    std::string comment(static_cast<std::size_t>(length), '\0');
    if (H5Oget_comment(from, comment.data(), comment.size() + 1) < 0 ||
        H5Oset_comment(to, comment.c_str()) < 0)
      return copy_failure("comment", "cannot be copied");
  }
  H5O_info2_t info{};
  if (H5Oget_info3(from, &info, H5O_INFO_NUM_ATTRS) < 0)
    return copy_failure("attributes", "unreadable");
  if (info.num_attrs == 0) return {};
  hsize_t ignored = 0;
  const AttributeHandle first(
      H5Aopen_by_idx(from, ".", H5_INDEX_NAME, H5_ITER_INC, ignored, H5P_DEFAULT, H5P_DEFAULT));
  H5A_info_t kind{};
  if (!first.valid() || H5Aget_info(first.get(), &kind) < 0)
    return copy_failure("attributes", "unreadable");
  const H5_index_t order = kind.corder_valid ? H5_INDEX_CRT_ORDER : H5_INDEX_NAME;
  for (hsize_t i = 0; i < info.num_attrs; ++i) {
    const AttributeHandle old(
        H5Aopen_by_idx(from, ".", order, H5_ITER_INC, i, H5P_DEFAULT, H5P_DEFAULT));
    if (!old.valid()) return copy_failure("attribute", "cannot be opened");
    BENTO_TRY(copy_attribute(old.get(), to));
  }
  return {};
}

namespace {

/// Elements in memory; variable-length parts and what references hold are given back at the end.
class Values {
 public:
  Values(hid_t type, hid_t space, std::size_t bytes) : type_(type), space_(space), bytes_(bytes) {}
  ~Values() {
    if (filled_) H5Treclaim(type_, space_, H5P_DEFAULT, bytes_.data());
  }
  Values(const Values&) = delete;
  Values& operator=(const Values&) = delete;
  void* data() { return bytes_.data(); }
  void filled() { filled_ = has_variable_length(type_) || has_reference(type_); }

 private:
  hid_t type_;
  hid_t space_;
  std::vector<std::byte> bytes_;
  bool filled_ = false;
};

}  // namespace

Status TreeCopy::copy_attribute(hid_t from, hid_t to) {
  const ssize_t length = H5Aget_name(from, 0, nullptr);
  std::string name(length > 0 ? static_cast<std::size_t>(length) : 0, '\0');
  if (length < 0 || H5Aget_name(from, name.size() + 1, name.data()) < 0)
    return copy_failure("attribute", "its name is unreadable");
  const TypeHandle type(H5Aget_type(from));
  const SpaceHandle space(H5Aget_space(from));
  const PlistHandle list(H5Aget_create_plist(from));
  if (!type.valid() || !space.valid() || !list.valid())
    return copy_failure("attribute " + name, "unreadable");
  BENTO_ASSIGN(const TypeHandle copied_type, type_in_copy(type.get()));
  const AttributeHandle copy(
      H5Acreate2(to, name.c_str(), copied_type.get(), space.get(), list.get(), H5P_DEFAULT));
  if (!copy.valid()) return copy_failure("attribute " + name, "cannot be made");
  BENTO_ASSIGN(const std::size_t count, count_of(space.get(), name));
  if (count == 0) return {};
  const std::size_t size = H5Tget_size(type.get());
  if (size == 0) return copy_failure("attribute " + name, "its type is unreadable");
  Values values(type.get(), space.get(), count * size);
  if (H5Aread(from, type.get(), values.data()) < 0)
    return copy_failure("attribute " + name, "cannot be read");
  values.filled();
  BENTO_TRY(translator_.translate(type.get(), values.data(), count));
  if (H5Awrite(copy.get(), type.get(), values.data()) < 0)
    return copy_failure("attribute " + name, "cannot be written");
  return {};
}

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
    return copy_in_parts(from, to, type.get(), space.get());
  const std::size_t size = H5Tget_size(type.get());
  if (size == 0) return copy_failure("dataset", "its type is unreadable");
  constexpr std::size_t kPieceBytes = 8u << 20;
  BENTO_ASSIGN(const Dims extent, extent_of(space.get()));
  std::vector<std::byte> piece;
  return for_each_part(
      Box::whole(extent), std::max<std::size_t>(1, kPieceBytes / size),
      [&](const Box& box) -> Status {
        piece.resize(static_cast<std::size_t>(box.elements()) * size);
        const SpaceHandle memory = simple_space(box.count);
        if (!memory.valid()) return copy_failure("dataset", "its data cannot be read");
        if (box.rank() > 0) BENTO_TRY(select_box(space.get(), box));
        if (H5Dread(from, type.get(), memory.get(), space.get(), H5P_DEFAULT, piece.data()) < 0)
          return copy_failure("dataset", "its data cannot be read");
        if (H5Dwrite(to, type.get(), memory.get(), space.get(), H5P_DEFAULT, piece.data()) < 0)
          return copy_failure("dataset", "its data cannot be written");
        return {};
      });
}

// Values of variable length may be large: few elements at a time bound what is in memory.
Status TreeCopy::copy_in_parts(hid_t from, hid_t to, hid_t type, hid_t space) {
  constexpr std::size_t kElements = 4096;
  const std::size_t size = H5Tget_size(type);
  if (size == 0) return copy_failure("dataset", "its type is unreadable");
  BENTO_ASSIGN(const Dims extent, extent_of(space));
  return for_each_part(Box::whole(extent), kElements, [&](const Box& box) -> Status {
    const SpaceHandle memory = simple_space(box.count);
    if (!memory.valid()) return copy_failure("dataset", "its data cannot be read");
    if (box.rank() > 0) BENTO_TRY(select_box(space, box));
    Values values(type, memory.get(), box.elements() * size);
    if (H5Dread(from, type, memory.get(), space, H5P_DEFAULT, values.data()) < 0)
      return copy_failure("dataset", "its data cannot be read");
    values.filled();
    BENTO_TRY(translator_.translate(type, values.data(), box.elements()));
    if (H5Dwrite(to, type, memory.get(), space, H5P_DEFAULT, values.data()) < 0)
      return copy_failure("dataset", "its data cannot be written");
    return {};
  });
}

}  // namespace bento::vol
