// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "vol/file/type_members.hpp"

#include <algorithm>

#include "hdf5/base/handle.hpp"
#include "hdf5/base/types.hpp"

namespace bento::vol {

TypeMembers::TypeMembers(hid_t file_type) : file_type_(file_type) {
  add_parts(file_type, 0, parts_);
  all_.members = MemberSet::all(members_);
}

void TypeMembers::add_parts(hid_t type, std::size_t offset, std::vector<Part>& parts) {
  const H5T_class_t kind = H5Tget_class(type);
  if (kind == H5T_COMPOUND) {
    const int count = H5Tget_nmembers(type);
    for (int i = 0; i < count; ++i) {
      const TypeHandle member(H5Tget_member_type(type, static_cast<unsigned>(i)));
      add_parts(member.get(), offset + H5Tget_member_offset(type, static_cast<unsigned>(i)), parts);
    }
  } else if (kind == H5T_ARRAY && has_compound(type)) {
    const TypeHandle base(H5Tget_super(type));
    const std::size_t bytes = H5Tget_size(base.get());
    std::vector<Part> of_one;
    add_parts(base.get(), offset, of_one);
    for (std::size_t at = 0; at < H5Tget_size(type); at += bytes)
      for (const Part& part : of_one) parts.push_back({part.offset + at, part.bytes, part.member});
  } else {
    parts.push_back({offset, H5Tget_size(type), members_++});
  }
}

Result<WrittenMembers> TypeMembers::written_by(hid_t mem_type) const {
  const std::size_t bytes = std::max(H5Tget_size(mem_type), H5Tget_size(file_type_));
  std::vector<std::byte> results[2];
  for (const auto fill : {std::byte{0}, std::byte{0xFF}}) {
    std::vector<std::byte> background(bytes, fill);
    auto& result = results[fill == std::byte{0} ? 0 : 1];
    result.assign(bytes, std::byte{0});
    if (H5Tconvert(mem_type, file_type_, 1, result.data(), background.data(), H5P_DEFAULT) < 0)
      return fail(Code::kInvalidArgument,
                  "the memory type cannot be converted to the dataset's type");
  }
  WrittenMembers written = all_;
  for (const Part& part : parts_) {
    const auto first = results[0].begin() + static_cast<std::ptrdiff_t>(part.offset);
    const auto second = results[1].begin() + static_cast<std::ptrdiff_t>(part.offset);
    if (std::equal(first, first + static_cast<std::ptrdiff_t>(part.bytes), second)) continue;
    written.members.remove(part.member);
    written.partial = true;
  }
  return written;
}

}  // namespace bento::vol
