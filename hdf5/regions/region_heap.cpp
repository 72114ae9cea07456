// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "hdf5/regions/region_heap.hpp"

#include <bit>
#include <cstring>

#include <H5VLconnector.h>
#include <H5VLconnector_passthru.h>

#include "core/bytes/byte_reader.hpp"
#include "hdf5/base/library_state.hpp"
#include "hdf5/base/native_connector.hpp"
#include "hdf5/base/tokens.hpp"
#include "hdf5/regions/heap_object.hpp"

namespace bento::vol {

RegionHeap::RegionHeap(std::uint64_t first)
    : store_(std::make_shared<RegionStore>(
          first, [this](std::uint64_t address) { return extent_at(address); })) {}

RegionHeap::~RegionHeap() {
  close();
}

void RegionHeap::close() noexcept {
  if (root_ == nullptr) return;
  const LibraryState state;
  const ErrorStackKeeper keep;
  H5VLgroup_close(root_, native_connector(), H5P_DATASET_XFER_DEFAULT, nullptr);
  root_ = nullptr;
  file_ = nullptr;
}

// The file must be made by H5Fcreate, which tells the library its connector; then its root group,
// opened without an identifier, keeps it open.
Status RegionHeap::open() {
  if (root_ != nullptr) return {};
  constexpr const char* kName = "h5bento regions";
  const PlistHandle access(H5Pcreate(H5P_FILE_ACCESS));
  if (set_fapl_regions(access.get(), store_) < 0)
    return fail(Code::kInternal, "no memory file for references to regions");
  const FileHandle file(created_ ? H5Fopen(kName, H5F_ACC_RDWR, access.get())
                                 : H5Fcreate(kName, H5F_ACC_TRUNC, H5P_DEFAULT, access.get()));
  if (file.valid()) {
    file_ = H5VLobject(file.get());
    const auto self = by_self(H5I_FILE);
    root_ = H5VLgroup_open(file_, &self, native_connector(), "/", H5P_GROUP_ACCESS_DEFAULT,
                           H5P_DATASET_XFER_DEFAULT, nullptr);
  }
  if (root_ == nullptr) return fail(Code::kInternal, "no memory file for references to regions");
  created_ = true;
  return {};
}

Result<void*> RegionHeap::file(void* skeleton, std::uint64_t extents) {
  // What the library keeps of a header it has read is forgotten with the file alone.
  if (store_->showed_extents() && extents_ != extents) {
    close();
    store_->forget_extents();
  }
  BENTO_TRY(open());
  skeleton_ = skeleton;
  extents_ = extents;
  flushed_ = false;
  return file_;
}

Status RegionHeap::flush() {
  if (flushed_ || file_ == nullptr) return {};
  H5VL_file_specific_args_t args{};
  args.op_type = H5VL_FILE_FLUSH;
  args.args.flush.obj_type = H5I_FILE;
  args.args.flush.scope = H5F_SCOPE_LOCAL;
  if (H5VLfile_specific(file_, native_connector(), &args, H5P_DATASET_XFER_DEFAULT, nullptr) < 0)
    return fail(Code::kInternal, "the heap of references to regions cannot be flushed");
  flushed_ = true;
  return {};
}

Result<std::vector<std::byte>> RegionHeap::get(const std::byte* reference) {
  ByteReader in(std::span(reference, kRegionReferenceBytes), std::endian::little, "reference");
  BENTO_ASSIGN(const std::uint64_t address, in.u64());
  BENTO_ASSIGN(const std::uint32_t index, in.u32());
  if (!store_->has(address))
    return fail(Code::kInvalidArgument,
                "a reference to a region that this process has neither made in this file nor read "
                "from it since it was opened");
  BENTO_TRY(flush());
  auto region = heap_object(
      [this](std::uint64_t at, std::span<std::byte> into) {
        return store_->read(H5FD_MEM_GHEAP, at, into);
      },
      store_->end(), address, index);
  if (region && region->size() < kRegionAddressBytes)
    return fail(Code::kInvalidArgument, "this is no reference to a region");
  return region;
}

Status RegionHeap::put(std::span<const std::byte> region, std::byte* reference) {
  // The library does not look whether there is an address.
  if (region.size() < kRegionAddressBytes)
    return fail(Code::kCorrupt, "a reference to a region without a dataset");
  auto known = known_.find({region.begin(), region.end()});
  if (known == known_.end()) {
    BENTO_TRY(open());
    Reference made{};
    flushed_ = false;
    if (H5VLblob_put(file_, native_connector(), region.data(), region.size(), made.data(),
                     nullptr) < 0)
      return fail(Code::kInternal, "no room in memory for a reference to a region");
    known = known_.emplace(std::vector<std::byte>(region.begin(), region.end()), made).first;
  }
  std::memcpy(reference, known->second.data(), kRegionReferenceBytes);
  return {};
}

// Called by the library, by way of the driver, in the middle of a call for the file of regions.
Result<SpaceHandle> RegionHeap::extent_at(std::uint64_t address) const {
  const LibraryState state;
  H5O_token_t token = token_of(address);
  const H5VL_loc_params_t place = by_token(H5I_FILE, token);
  H5I_type_t kind = H5I_BADID;
  const hid_t dxpl = H5P_DATASET_XFER_DEFAULT;
  void* const object = skeleton_ == nullptr ? nullptr
                                            : H5VLobject_open(skeleton_, &place, native_connector(),
                                                              &kind, dxpl, nullptr);
  SpaceHandle space;
  if (object != nullptr && kind == H5I_DATASET) {
    H5VL_dataset_get_args_t args{};
    args.op_type = H5VL_DATASET_GET_SPACE;
    if (H5VLdataset_get(object, native_connector(), &args, dxpl, nullptr) >= 0)
      space = SpaceHandle(args.args.get_space.space_id);
  }
  if (object != nullptr && kind == H5I_DATASET)
    H5VLdataset_close(object, native_connector(), dxpl, nullptr);
  else if (object != nullptr && kind == H5I_GROUP)
    H5VLgroup_close(object, native_connector(), dxpl, nullptr);
  else if (object != nullptr && kind == H5I_DATATYPE)
    H5VLdatatype_close(object, native_connector(), dxpl, nullptr);
  if (!space.valid())
    return fail(Code::kNotFound, "the dataset that a reference to a region names is not there");
  return space;
}

}  // namespace bento::vol
