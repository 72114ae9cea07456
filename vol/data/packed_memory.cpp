// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "vol/data/packed_memory.hpp"

#include <cstring>

#include "hdf5/data/plain_selection.hpp"

namespace bento::vol {

namespace {

struct Given {
  const void* elements;
  std::size_t bytes;
};

herr_t give_all(const void** source, std::size_t* bytes, void* data) {
  const auto* const given = static_cast<const Given*>(data);
  *source = given->elements;
  *bytes = given->bytes;
  return 0;
}

}  // namespace

Result<PackedMemory> PackedMemory::of(hid_t space, hid_t type, const void* buffer) {
  const hssize_t elements = H5Sget_select_npoints(space);
  if (elements < 0) return fail(Code::kInvalidArgument, "the memory selection has no size");
  PackedMemory packed(type, H5Tget_size(type), static_cast<std::size_t>(elements));
  if (H5Dgather(space, buffer, type, packed.bytes_.size(), packed.bytes_.data(), nullptr, nullptr) <
      0)
    return fail(Code::kInternal, "H5Dgather failed on the memory selection");
  return packed;
}

Status PackedMemory::give_back(hid_t space, void* buffer) const {
  Given given{bytes_.data(), bytes_.size()};
  if (H5Dscatter(give_all, &given, type_, space, buffer) < 0)
    return fail(Code::kInternal, "H5Dscatter failed on the memory selection");
  return {};
}

PackedMemory PackedMemory::take(const std::vector<std::uint64_t>& places) const {
  PackedMemory part(type_, element_bytes_, places.size());
  for (std::size_t i = 0; i < places.size(); ++i)
    std::memcpy(part.bytes_.data() + i * element_bytes_, bytes_.data() + places[i] * element_bytes_,
                element_bytes_);
  return part;
}

void PackedMemory::put(const std::vector<std::uint64_t>& places, const PackedMemory& part) {
  for (std::size_t i = 0; i < places.size(); ++i)
    std::memcpy(bytes_.data() + places[i] * element_bytes_, part.bytes_.data() + i * element_bytes_,
                element_bytes_);
}

Result<SpaceHandle> PackedMemory::space() const {
  const hsize_t elements = element_bytes_ > 0 ? bytes_.size() / element_bytes_ : 0;
  const SpaceHandle all(H5Screate_simple(1, &elements, nullptr));
  if (!all.valid()) return fail(Code::kInternal, "no dataspace for a copy in memory");
  return plain_selection(all.get());
}

}  // namespace bento::vol
