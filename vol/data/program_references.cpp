// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "vol/data/program_references.hpp"

#include <cstring>
#include <string>
#include <utility>

#include <fmt/format.h>

#include <H5VLconnector.h>
#include <H5VLconnector_passthru.h>

#include "hdf5/base/library_text.hpp"
#include "hdf5/base/native_connector.hpp"
#include "hdf5/base/quiet_errors.hpp"
#include "hdf5/base/tokens.hpp"
#include "hdf5/base/types.hpp"
#include "vol/file/dataset_state.hpp"
#include "vol/file/file_context.hpp"
#include "vol/file/reference_call.hpp"

namespace bento::vol {

namespace {

using Kind = StoredReference::Kind;

H5R_ref_t reference_at(const std::byte* at) {
  H5R_ref_t reference;
  std::memcpy(&reference, at, sizeof reference);
  return reference;
}

std::uint64_t address_at(const std::byte* at) {
  std::uint64_t address = 0;
  std::memcpy(&address, at, sizeof address);
  return address;
}

Result<std::string> attribute_of(const H5R_ref_t& reference) {
  auto name = library_text(
      [&](char* room, std::size_t bytes) { return H5Rget_attr_name(&reference, room, bytes); });
  if (!name || name->empty())
    return fail(Code::kInternal, "a reference to an attribute without a name");
  return *std::move(name);
}

constexpr int kNoDataset = -1;

/// Number of dimensions, kNoDataset if it is none; nothing if there is no object.
std::optional<int> dimensions_at(hid_t location, std::uint64_t address) {
  const QuietErrors quiet;
  const ObjectHandle object(H5Oopen_by_token(location, token_of(address)));
  if (!object.valid()) return std::nullopt;
  return dimensions_of(object.get());
}

}  // namespace

ProgramReferences::~ProgramReferences() {
  if (location_ < 0) return;
  const ErrorStackKeeper keep;
  H5Idec_ref(location_);
}

// --- to be written
// -------------------------------------------------------------------------------------------------

Status ProgramReferences::take(const ReferencePlaces& places, std::byte* elements,
                               std::size_t count, HeldReferences& held) {
  places.copy_sequences(elements, count, held.arena());
  return places.visit(elements, count, [&](std::byte* at, ReferencePlaces::Stored) -> Status {
    if (is_null_reference(at)) return {};
    H5R_ref_t reference = reference_at(at);
    BENTO_ASSIGN(const StoredReference found, taken(reference));
    BENTO_ASSIGN(const auto bytes, encode_reference(found));
    return held.put(bytes, at);
  });
}

Result<StoredReference> ProgramReferences::taken(H5R_ref_t& reference) {
  StoredReference found;
  const H5R_type_t kind = H5Rget_type(&reference);
  if (kind != H5R_OBJECT2 && kind != H5R_DATASET_REGION2 && kind != H5R_ATTR)
    return fail(Code::kInvalidArgument, "this is no reference");
  BENTO_ASSIGN(const ReferenceTarget target, ReferenceTarget::of(reference));
  if (!target.is_in(file_))
    return fail(Code::kUnsupported,
                fmt::format("a reference to an object of another file, '{}', in a dataset of a "
                            "parallel program: such datasets hold references to objects of their "
                            "own file",
                            target.file_name()));
  found.address = target.address();
  if (kind == H5R_DATASET_REGION2) {
    found.kind = Kind::kRegion;
    BENTO_ASSIGN(const auto dimensions, dimensions_of_object(found.address));
    if (dimensions == kNoDataset)
      return fail(
          Code::kInvalidArgument,
          "a reference to a region of an object that is no dataset: it was made for another "
          "object, or that dataset is gone and this object has its place");
    BENTO_ASSIGN(found.region, regions_.open(reference, dimensions.value_or(kNoDataset)));
    if (!found.region.valid())
      return fail(
          Code::kInvalidArgument,
          "a reference to a region of a dataset that is gone, or whose place a dataset with "
          "another number of dimensions has");
  } else if (kind == H5R_ATTR) {
    found.kind = Kind::kAttribute;
    BENTO_ASSIGN(found.attribute, attribute_of(reference));
  }
  return found;
}

// --- that were read
// -------------------------------------------------------------------------------------------------

Status ProgramReferences::give(const ReferencePlaces& places, std::byte* elements,
                               std::size_t count, HeldReferences& held) {
  std::size_t made = 0;
  Status done =
      places.visit(elements, count, [&](std::byte* at, ReferencePlaces::Stored stored) -> Status {
        BENTO_TRY(give_one(at, stored, held));
        ++made;
        return {};
      });
  if (done) return done;
  const ErrorStackKeeper keep;
  (void)places.visit(elements, count, [&](std::byte* at, ReferencePlaces::Stored) -> Status {
    if (made > 0) {
      --made;
      H5R_ref_t reference = reference_at(at);
      if (!is_null_reference(at)) H5Rdestroy(&reference);
    }
    std::memset(at, 0, kReferenceBytes);
    return {};
  });
  return done;
}

Status ProgramReferences::give_one(std::byte* at, ReferencePlaces::Stored stored,
                                   HeldReferences& held) {
  H5R_ref_t made;
  std::memset(&made, 0, sizeof made);
  const bool null = stored == ReferencePlaces::Stored::kReference ? is_null_reference(at)
                    : stored == ReferencePlaces::Stored::kRegion
                        ? is_null_region(at)
                        : address_at(at) == 0 || address_at(at) == HADDR_UNDEF;
  if (!null) {
    BENTO_ASSIGN(const StoredReference found, given(at, stored, held));
    BENTO_ASSIGN(const bool possible, may_have_region(found));
    if (possible) {
      BENTO_ASSIGN(const hid_t place, location());
      const KnownAddress known(found.address);
      BENTO_TRY(make_reference(place, found, made));
    }
  }
  std::memcpy(at, &made, sizeof made);
  return {};
}

Result<StoredReference> ProgramReferences::given(const std::byte* at,
                                                 ReferencePlaces::Stored stored,
                                                 HeldReferences& held) {
  if (stored == ReferencePlaces::Stored::kReference) {
    BENTO_ASSIGN(const auto bytes, held.get(at));
    return decode_reference(bytes);
  }
  if (stored == ReferencePlaces::Stored::kRegion) return old_region(at);
  StoredReference found;
  found.address = address_at(at);
  return found;
}

// The library's own reader of what the heap has.
Result<StoredReference> ProgramReferences::old_region(const std::byte* at) {
  StoredReference found;
  found.kind = Kind::kRegion;
  BENTO_ASSIGN(const auto region, file_.regions().get(at));
  found.address = address_at(region.data());
  BENTO_ASSIGN(const hid_t place, location());
  const QuietErrors quiet;
  found.region = SpaceHandle(H5Rget_region(place, H5R_DATASET_REGION, at));
  if (!found.region.valid())
    return fail(Code::kInvalidArgument, "a reference to a region of a dataset that is gone");
  return found;
}

// The library does not look whether a region is that of a dataset, and of which.
Result<bool> ProgramReferences::may_have_region(const StoredReference& reference) {
  if (reference.kind != Kind::kRegion) return true;
  BENTO_ASSIGN(const auto dimensions, dimensions_of_object(reference.address));
  return !dimensions || fits_dimensions(reference, *dimensions);
}

// The object is asked itself: where a dataset was, there may be a group by now.
Result<std::optional<int>> ProgramReferences::dimensions_of_object(std::uint64_t address) {
  auto known = dimensions_.find(address);
  if (known == dimensions_.end()) {
    BENTO_ASSIGN(const hid_t place, location());
    known = dimensions_.emplace(address, dimensions_at(place, address)).first;
  }
  return known->second;
}

// The library makes an id only of an object that is opened for it.
Result<hid_t> ProgramReferences::location() {
  if (location_ >= 0) return location_;
  BENTO_ASSIGN(const ObjectIdentity identity, identity_of(dataset_));
  H5O_token_t token = token_of(identity.token);
  const H5VL_loc_params_t place = by_token(H5I_DATASET, token);
  H5I_type_t kind = H5I_BADID;
  void* const opened = H5VLobject_open(dataset_->under, &place, dataset_->under_vol_id, &kind,
                                       H5P_DATASET_XFER_DEFAULT, nullptr);
  if (opened == nullptr || kind != H5I_DATASET)
    return fail(Code::kInternal, "the dataset cannot be opened for its references");
  location_ = H5VLwrap_register(opened, H5I_DATASET);
  if (location_ < 0) {
    H5VLdataset_close(opened, dataset_->under_vol_id, H5P_DATASET_XFER_DEFAULT, nullptr);
    return fail(Code::kInternal, "the dataset has no id for its references");
  }
  return location_;
}

}  // namespace bento::vol
