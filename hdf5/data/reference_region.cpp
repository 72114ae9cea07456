// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "hdf5/data/reference_region.hpp"

#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include <H5VLconnector.h>
#include <H5VLconnector_passthru.h>

#include "core/bytes/byte_reader.hpp"
#include "hdf5/base/library_state.hpp"
#include "hdf5/base/memory_file.hpp"
#include "hdf5/base/native_connector.hpp"
#include "hdf5/base/quiet_errors.hpp"

namespace bento::vol {

namespace {

// What the library stores of a reference (H5Rint.c, H5R__encode; H5Tref.c, H5T__ref_disk_write):
// kind and flags, the length of the rest, and where the rest lies, as H5VLblob_get takes it. The
// rest: the object, the name of its file if that is another one, and the region.
constexpr std::uint8_t kOtherFile = 1;

/// Number of dimensions in the rest. Errors: kCorrupt.
Result<int> dimensions_in(std::span<const std::byte> rest, std::uint8_t flags) {
  ByteReader in(rest, std::endian::little, "reference");
  BENTO_ASSIGN(const std::uint8_t token_bytes, in.u8());
  BENTO_TRY(in.skip(token_bytes));
  if ((flags & kOtherFile) != 0) {
    BENTO_ASSIGN(const std::uint16_t name_bytes, in.u16());
    BENTO_TRY(in.skip(name_bytes));
  }
  BENTO_TRY(in.skip(sizeof(std::uint32_t)));  // the region's length
  BENTO_ASSIGN(const std::uint32_t dimensions, in.u32());
  return static_cast<int>(dimensions);
}

}  // namespace

Status ReferenceRegions::begin() {
  if (one_.valid()) return {};
  constexpr std::size_t kIncrement = 64 << 10;
  const hsize_t count = 1;
  const PlistHandle early(H5Pcreate(H5P_DATASET_CREATE));
  const SpaceHandle space(H5Screate_simple(1, &count, nullptr));
  BENTO_ASSIGN(file_, make_memory_file("references", kIncrement));
  if (H5Pset_alloc_time(early.get(), H5D_ALLOC_TIME_EARLY) >= 0)
    one_ = DatasetHandle(
        H5Dcreate_anon(file_.get(), H5T_STD_REF, space.get(), early.get(), H5P_DEFAULT));
  if (one_.valid()) {
    stored_bytes_ = static_cast<std::size_t>(H5Dget_storage_size(one_.get()));
    at_ = H5Dget_offset(one_.get());
  }
  if (at_ == HADDR_UNDEF) return fail(Code::kInternal, "no file in memory for references");
  return {};
}

Result<int> ReferenceRegions::dimensions_of_region(const H5R_ref_t& reference) {
  BENTO_TRY(begin());
  const auto unreadable = [] { return fail(Code::kInternal, "a reference is unreadable"); };
  if (H5Dwrite(one_.get(), H5T_STD_REF, H5S_ALL, H5S_ALL, H5P_DEFAULT, &reference) < 0 ||
      H5Fflush(file_.get(), H5F_SCOPE_LOCAL) < 0)
    return unreadable();
  const ssize_t bytes = H5Fget_file_image(file_.get(), nullptr, 0);
  if (bytes <= 0) return unreadable();
  std::vector<std::byte> image(static_cast<std::size_t>(bytes));
  if (H5Fget_file_image(file_.get(), image.data(), image.size()) != bytes ||
      at_ + stored_bytes_ > image.size())
    return unreadable();
  const auto stored = std::span(image).subspan(static_cast<std::size_t>(at_), stored_bytes_);
  ByteReader in(stored, std::endian::little, "reference");
  BENTO_TRY(in.skip(1));
  BENTO_ASSIGN(const std::uint8_t flags, in.u8());
  BENTO_ASSIGN(const std::uint32_t rest_bytes, in.u32());
  BENTO_ASSIGN(const auto where, in.bytes(in.remaining()));
  std::vector<std::byte> rest(rest_bytes);
  const LibraryState state;  // a program of ours makes no call through the connector here
  if (H5VLblob_get(H5VLobject(file_.get()), native_connector(), where.data(), rest.data(),
                   rest.size(), nullptr) < 0)
    return unreadable();
  return dimensions_in(rest, flags);
}

Result<SpaceHandle> ReferenceRegions::open(H5R_ref_t& reference, int dimensions) {
  if (dimensions < 0) return SpaceHandle();
  const QuietErrors quiet;
  BENTO_ASSIGN(const int found, dimensions_of_region(reference));
  if (found != dimensions) return SpaceHandle();
  return SpaceHandle(H5Ropen_region(&reference, H5P_DEFAULT, H5P_DEFAULT));
}

}  // namespace bento::vol
