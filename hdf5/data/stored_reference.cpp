// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "hdf5/data/stored_reference.hpp"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "core/bytes/byte_reader.hpp"
#include "core/bytes/byte_writer.hpp"
#include "hdf5/data/stored_selection.hpp"

namespace bento::vol {

Result<std::vector<std::byte>> encode_reference(const StoredReference& reference) {
  ByteWriter begin(std::endian::little);
  begin.u8(static_cast<std::uint8_t>(reference.kind));
  begin.u64(reference.address);
  auto out = std::move(begin).take();
  if (reference.kind == StoredReference::Kind::kRegion)
    BENTO_TRY(put_selection(reference.region.get(), out));
  if (reference.kind == StoredReference::Kind::kAttribute) {
    const auto name = std::as_bytes(std::span(reference.attribute));
    out.insert(out.end(), name.begin(), name.end());
  }
  return out;
}

Result<StoredReference> decode_reference(std::span<const std::byte> stored) {
  ByteReader in(stored, std::endian::little, "reference");
  StoredReference reference;
  BENTO_ASSIGN(const std::uint8_t kind, in.u8());
  BENTO_ASSIGN(reference.address, in.u64());
  reference.kind = static_cast<StoredReference::Kind>(kind);
  switch (reference.kind) {
    case StoredReference::Kind::kObject:
      break;
    case StoredReference::Kind::kRegion: {
      BENTO_ASSIGN(reference.region, take_selection(in));
      break;
    }
    case StoredReference::Kind::kAttribute: {
      BENTO_ASSIGN(const auto name, in.bytes(in.remaining()));
      reference.attribute.assign(reinterpret_cast<const char*>(name.data()), name.size());
      if (name.empty() || std::ranges::find(name, std::byte{0}) != name.end())
        return fail(Code::kCorrupt, "a reference to an attribute without a name");
      break;
    }
    default:
      return fail(Code::kCorrupt, fmt::format("a reference of kind {}", kind));
  }
  if (in.remaining() != 0)
    return fail(Code::kCorrupt, fmt::format("{} bytes behind a reference", in.remaining()));
  return reference;
}

int dimensions_of(hid_t object) {
  if (H5Iget_type(object) != H5I_DATASET) return -1;
  const SpaceHandle space(H5Dget_space(object));
  return H5Sget_simple_extent_ndims(space.get());
}

bool fits_dimensions(const StoredReference& reference, int dimensions) {
  return reference.kind != StoredReference::Kind::kRegion ||
         H5Sget_simple_extent_ndims(reference.region.get()) == dimensions;
}

Status make_reference(hid_t location, const StoredReference& reference, H5R_ref_t& made) {
  herr_t done = -1;
  switch (reference.kind) {
    case StoredReference::Kind::kObject:
      done = H5Rcreate_object(location, ".", H5P_DEFAULT, &made);
      break;
    case StoredReference::Kind::kRegion:
      done = H5Rcreate_region(location, ".", reference.region.get(), H5P_DEFAULT, &made);
      break;
    case StoredReference::Kind::kAttribute:
      done = H5Rcreate_attr(location, ".", reference.attribute.c_str(), H5P_DEFAULT, &made);
      break;
  }
  if (done < 0) return fail(Code::kInternal, "a reference cannot be made");
  return {};
}

}  // namespace bento::vol
