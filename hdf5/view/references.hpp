// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// A copied tree has new objects at new addresses, and references to the old ones lie in attributes
/// and data: this finds every reference inside a buffer of any type and makes it point to the copy.
#pragma once

#include <array>
#include <cstddef>
#include <map>

#include <hdf5.h>

#include "core/base/error.hpp"

namespace bento::vol {

/// Which object of the new file is the copy of which object of the old one, by object token.
class ObjectMap {
 public:
  void add(const H5O_token_t& from, const H5O_token_t& to) { objects_[key(from)] = to; }
  [[nodiscard]] const H5O_token_t* find(const H5O_token_t& from) const {
    const auto found = objects_.find(key(from));
    return found == objects_.end() ? nullptr : &found->second;
  }

 private:
  using Key = std::array<unsigned char, sizeof(H5O_token_t)>;
  static Key key(const H5O_token_t& token);
  std::map<Key, H5O_token_t> objects_;
};

class ReferenceTranslator {
 public:
  /// Ids of both files, borrowed.
  ReferenceTranslator(hid_t from, hid_t to, const ObjectMap& objects)
      : from_(from), to_(to), objects_(objects) {}

  /// Replaces the references in `count` elements of `type` (as in memory) at `buffer`. One whose
  /// object has no copy becomes a null reference, and dropped() counts it. Errors: kInternal.
  Status translate(hid_t type, void* buffer, std::size_t count);
  [[nodiscard]] std::size_t dropped() const { return dropped_; }

 private:
  Status translate_one(hid_t type, std::byte* element);
  Status translate_object(std::byte* element);
  Status translate_region(std::byte* element);
  Status translate_new_style(std::byte* element);
  /// Opens the copy of an open object; invalid if there is none.
  hid_t open_copy(hid_t object) const;

  hid_t from_;
  hid_t to_;
  const ObjectMap& objects_;
  std::size_t dropped_ = 0;
};

}  // namespace bento::vol
