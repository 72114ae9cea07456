// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// A copied tree has new objects at new addresses, and references to the old ones lie in attributes
/// and data: this finds every reference inside a buffer of any type and makes it point to the copy.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <string>

#include <hdf5.h>

#include "core/base/error.hpp"
#include "hdf5/base/handle.hpp"
#include "hdf5/data/reference_region.hpp"
#include "hdf5/data/region_values.hpp"

namespace bento::vol {

/// Which object of the new file is the copy of which object of the old one, by object token.
class ObjectMap {
 public:
  /// `to`: id of the new file, borrowed.
  explicit ObjectMap(hid_t to) : to_(to) {}

  void add(const H5O_token_t& from, const H5O_token_t& to) { objects_[key(from)] = {to, {}}; }
  /// Its copy lies at `path`, without a leading slash. Few copies are asked for, so their tokens
  /// are found out then.
  void add(const H5O_token_t& from, std::string path) {
    objects_[key(from)] = {std::nullopt, std::move(path)};
  }
  /// Its copy is gone.
  void forget(const H5O_token_t& from) { objects_.erase(key(from)); }
  /// Null if there is no copy.
  [[nodiscard]] const H5O_token_t* find(const H5O_token_t& from) const;

 private:
  using Key = std::array<unsigned char, sizeof(H5O_token_t)>;
  struct Copy {
    std::optional<H5O_token_t> token;
    std::string path;
  };
  static Key key(const H5O_token_t& token);

  hid_t to_;
  mutable std::map<Key, Copy> objects_;
};

/// As RegionValues it takes regions of the old file, and makes references in the new one.
class ReferenceTranslator final : public RegionValues {
 public:
  /// Ids of both files, borrowed.
  ReferenceTranslator(hid_t from, hid_t to, const ObjectMap& objects)
      : from_(from), to_(to), objects_(objects) {}

  enum class Regions { kTranslate, kAreNew };
  /// Replaces the references in `count` elements of `type` (as in memory) at `buffer`. One whose
  /// object has no copy becomes a null reference, and dropped() counts it. `regions`: are those to
  /// regions (H5T_STD_REF_DSETREG), and those of HDF5 1.12, of the old file, or made by put() and
  /// make_new()? Errors: kInternal.
  Status translate(hid_t type, void* buffer, std::size_t count,
                   Regions regions = Regions::kTranslate);
  /// Always an error: nothing here has references in memory.
  Result<std::vector<std::byte>> get(const std::byte* reference) override;
  /// Null, and dropped() counts it, if the dataset has no copy.
  Status put(std::span<const std::byte> region, std::byte* reference) override;
  /// The copy that a reference led to, open: the next ones often lead there, too.
  struct LastCopy {
    std::uint64_t from = 0;  ///< address in the old file
    ObjectHandle object;
    int dimensions = -1;
  };
  /// Makes a reference of HDF5 1.12 (H5R_ref_t) of one in a record of the old file; null, and
  /// dropped() counts it, if its object has no copy. Errors: kCorrupt, kInternal.
  Status make_new(std::span<const std::byte> stored, std::byte* reference, LastCopy& last);
  [[nodiscard]] std::size_t dropped() const { return dropped_; }

 private:
  Status translate_one(hid_t type, std::byte* element, Regions regions);
  Status translate_object(std::byte* element);
  Status translate_region(std::byte* element);
  Status translate_new_style(std::byte* element);
  /// Does it lead out of the old file? Opens nothing, as the library does when it follows one.
  bool leads_elsewhere(const H5R_ref_t& reference);
  /// Opens the copy of an open object; invalid if there is none.
  hid_t open_copy(hid_t object) const;

  hid_t from_;
  hid_t to_;
  const ObjectMap& objects_;
  std::optional<std::string> from_name_;  ///< as the library says it of a reference's file
  ReferenceRegions regions_;
  std::size_t dropped_ = 0;
};

}  // namespace bento::vol
