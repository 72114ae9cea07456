// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "hdf5/view/references.hpp"

#include <cstring>
#include <string>

#include <H5VLconnector.h>
#include <H5VLconnector_passthru.h>

#include "hdf5/base/handle.hpp"
#include "hdf5/base/library_text.hpp"
#include "hdf5/base/native_connector.hpp"
#include "hdf5/base/tokens.hpp"
#include "hdf5/base/types.hpp"
#include "hdf5/data/stored_reference.hpp"

namespace bento::vol {

ObjectMap::Key ObjectMap::key(const H5O_token_t& token) {
  Key bytes{};
  std::memcpy(bytes.data(), &token, bytes.size());
  return bytes;
}

const H5O_token_t* ObjectMap::find(const H5O_token_t& from) const {
  const auto found = objects_.find(key(from));
  if (found == objects_.end()) return nullptr;
  Copy& copy = found->second;
  if (!copy.token) {
    H5O_info2_t info{};
    if (H5Oget_info_by_name3(to_, copy.path.c_str(), &info, H5O_INFO_BASIC, H5P_DEFAULT) < 0)
      return nullptr;
    copy.token = info.token;
  }
  return &*copy.token;
}

hid_t ReferenceTranslator::open_copy(hid_t object) const {
  H5O_info2_t info{};
  if (object < 0 || H5Oget_info3(object, &info, H5O_INFO_BASIC) < 0) return H5I_INVALID_HID;
  const H5O_token_t* const copy = objects_.find(info.token);
  return copy == nullptr ? H5I_INVALID_HID : H5Oopen_by_token(to_, *copy);
}

Status ReferenceTranslator::translate(hid_t type, void* buffer, std::size_t count,
                                      Regions regions) {
  if (!has_reference(type)) return {};
  const std::size_t size = H5Tget_size(type);
  for (std::size_t i = 0; i < count; ++i)
    BENTO_TRY(translate_one(type, static_cast<std::byte*>(buffer) + i * size, regions));
  return {};
}

Status ReferenceTranslator::translate_one(hid_t type, std::byte* element, Regions regions) {
  const auto unreadable = [] { return fail(Code::kInternal, "a type is unreadable"); };
  switch (H5Tget_class(type)) {
    case H5T_REFERENCE: {
      const htri_t object = H5Tequal(type, H5T_STD_REF_OBJ);
      const htri_t region = H5Tequal(type, H5T_STD_REF_DSETREG);
      if (object < 0 || region < 0) return unreadable();
      if (object > 0) return translate_object(element);
      if (region > 0) return regions == Regions::kAreNew ? Status{} : translate_region(element);
      return regions == Regions::kAreNew ? Status{} : translate_new_style(element);
    }
    case H5T_COMPOUND: {
      const int members = H5Tget_nmembers(type);
      if (members < 0) return unreadable();
      for (unsigned i = 0; i < static_cast<unsigned>(members); ++i) {
        const TypeHandle member(H5Tget_member_type(type, i));
        BENTO_TRY(translate(member.get(), element + H5Tget_member_offset(type, i), 1, regions));
      }
      return {};
    }
    case H5T_ARRAY: {
      const TypeHandle base(H5Tget_super(type));
      const std::size_t size = H5Tget_size(base.get());
      if (size == 0) return unreadable();
      return translate(base.get(), element, H5Tget_size(type) / size, regions);
    }
    case H5T_VLEN: {
      hvl_t sequence{};
      std::memcpy(&sequence, element, sizeof sequence);
      const TypeHandle base(H5Tget_super(type));
      return sequence.len == 0 ? Status{}
                               : translate(base.get(), sequence.p, sequence.len, regions);
    }
    default:
      return {};
  }
}

Status ReferenceTranslator::translate_object(std::byte* element) {
  hobj_ref_t old{};
  std::memcpy(&old, element, sizeof old);
  hobj_ref_t fresh{};
  if (old != 0 && old != HADDR_UNDEF) {
    const ObjectHandle target(H5Rdereference2(from_, H5P_DEFAULT, H5R_OBJECT, &old));
    const ObjectHandle copy(open_copy(target.get()));
    if (!copy.valid())
      ++dropped_;
    else if (H5Rcreate(&fresh, copy.get(), ".", H5R_OBJECT, H5I_INVALID_HID) < 0)
      return fail(Code::kInternal, "an object reference cannot be made");
  }
  std::memcpy(element, &fresh, sizeof fresh);
  return {};
}

Status ReferenceTranslator::translate_region(std::byte* element) {
  hdset_reg_ref_t old{};
  std::memcpy(&old, element, sizeof old);
  hdset_reg_ref_t fresh{};
  if (std::memcmp(&old, &fresh, sizeof old) != 0) {
    const ObjectHandle target(H5Rdereference2(from_, H5P_DEFAULT, H5R_DATASET_REGION, &old));
    const SpaceHandle region(H5Rget_region(from_, H5R_DATASET_REGION, &old));
    const ObjectHandle copy(open_copy(target.get()));
    if (!copy.valid() || !region.valid())
      ++dropped_;
    else if (H5Rcreate(&fresh, copy.get(), ".", H5R_DATASET_REGION, region.get()) < 0)
      return fail(Code::kInternal, "a region reference cannot be made");
  }
  std::memcpy(element, &fresh, sizeof fresh);
  return {};
}

Result<std::vector<std::byte>> ReferenceTranslator::get(const std::byte*) {
  return fail(Code::kInternal, "references to regions are made here, not read");
}

// The selection stays as it is; what a region begins with is the address of its dataset.
Status ReferenceTranslator::put(std::span<const std::byte> region, std::byte* reference) {
  std::memset(reference, 0, kRegionReferenceBytes);
  if (region.size() < kRegionAddressBytes)
    return fail(Code::kCorrupt, "a reference to a region without a dataset");
  H5O_token_t old{};
  std::memcpy(&old, region.data(), kRegionAddressBytes);
  const H5O_token_t* const copy = objects_.find(old);
  if (copy == nullptr) {
    ++dropped_;
    return {};
  }
  std::vector<std::byte> fresh(region.begin(), region.end());
  std::memcpy(fresh.data(), copy, kRegionAddressBytes);
  if (H5VLblob_put(H5VLobject(to_), native_connector(), fresh.data(), fresh.size(), reference,
                   nullptr) < 0)
    return fail(Code::kInternal, "a region reference cannot be made");
  return {};
}

Status ReferenceTranslator::make_new(std::span<const std::byte> stored, std::byte* reference,
                                     LastCopy& last) {
  BENTO_ASSIGN(const StoredReference old, decode_reference(stored));
  H5R_ref_t fresh;
  std::memset(&fresh, 0, sizeof fresh);
  if (!last.object.valid() || last.from != old.address) {
    const H5O_token_t* const copy = objects_.find(token_of(old.address));
    last = {};
    if (copy != nullptr) {
      last = {old.address, ObjectHandle(H5Oopen_by_token(to_, *copy)), -1};
      if (!last.object.valid()) return fail(Code::kInternal, "a reference cannot be made");
      last.dimensions = dimensions_of(last.object.get());
    }
  }
  if (last.object.valid() && fits_dimensions(old, last.dimensions))
    BENTO_TRY(make_reference(last.object.get(), old, fresh));
  else
    ++dropped_;
  std::memcpy(reference, &fresh, sizeof fresh);
  return {};
}

bool ReferenceTranslator::leads_elsewhere(const H5R_ref_t& reference) {
  const auto name = library_text(
      [&](char* room, std::size_t bytes) { return H5Rget_file_name(&reference, room, bytes); });
  if (!from_name_)
    from_name_ = library_text([&](char* room, std::size_t bytes) {
                   return H5Fget_name(from_, room, bytes);
                 }).value_or("");
  return name != from_name_;
}

Status ReferenceTranslator::translate_new_style(std::byte* element) {
  H5R_ref_t old;
  std::memcpy(&old, element, sizeof old);
  H5R_ref_t fresh;
  std::memset(&fresh, 0, sizeof fresh);
  const H5R_type_t kind = H5Rget_type(&old);
  if (kind == H5R_OBJECT2 || kind == H5R_DATASET_REGION2 || kind == H5R_ATTR) {
    // The object of another file would be looked for among those of this one, by its place there.
    const ObjectHandle target(
        leads_elsewhere(old) ? H5I_INVALID_HID : H5Ropen_object(&old, H5P_DEFAULT, H5P_DEFAULT));
    const ObjectHandle copy(open_copy(target.get()));
    SpaceHandle region;
    if (copy.valid() && kind == H5R_DATASET_REGION2) {
      BENTO_ASSIGN(region, regions_.open(old, dimensions_of(target.get())));
    }
    herr_t made = 0;
    if (!copy.valid() || (kind == H5R_DATASET_REGION2 && !region.valid())) {
      ++dropped_;
    } else if (kind == H5R_OBJECT2) {
      made = H5Rcreate_object(copy.get(), ".", H5P_DEFAULT, &fresh);
    } else if (kind == H5R_DATASET_REGION2) {
      made = H5Rcreate_region(copy.get(), ".", region.get(), H5P_DEFAULT, &fresh);
    } else {
      const auto name = library_text(
          [&](char* room, std::size_t bytes) { return H5Rget_attr_name(&old, room, bytes); });
      made = name && !name->empty()
                 ? H5Rcreate_attr(copy.get(), ".", name->c_str(), H5P_DEFAULT, &fresh)
                 : -1;
    }
    if (made < 0) return fail(Code::kInternal, "a reference cannot be made");
    H5Rdestroy(&old);
  }
  std::memcpy(element, &fresh, sizeof fresh);
  return {};
}

}  // namespace bento::vol
