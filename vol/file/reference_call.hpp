// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// What a reference of HDF5 1.12 leads to, and references to what is known by its address. The
/// library tells neither, and the object may be gone: natively its references are written and read
/// all the same. But to answer H5Rget_file_name() and H5Rget_obj_type3() it asks our callbacks
/// about the object, and for H5Rcreate_object() and its like it asks for the object's token. While
/// one of these classes lives, the callbacks listen, or answer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <hdf5.h>

#include "core/base/error.hpp"
#include "vol/file/object.hpp"

namespace bento::vol {

/// What a reference leads to. Task-local.
class ReferenceTarget {
 public:
  /// Of a reference that is not null. Errors: kInternal (the library does not answer).
  static Result<ReferenceTarget> of(H5R_ref_t& reference);

  /// Is it in the container `file`, opened through the connector?
  [[nodiscard]] bool is_in(const FileContext& file) const { return file_ == &file; }
  /// The name of the file that it is in.
  [[nodiscard]] const std::string& file_name() const { return file_name_; }
  /// In the skeleton; of no use if it is in no container.
  [[nodiscard]] std::uint64_t address() const { return address_; }

  // What the callbacks are asked: true if that was the answer.
  static void name_was_asked(const Object* file) noexcept;
  static bool answers_type(const H5VL_loc_params_t& place, H5VL_object_get_args_t& args) noexcept;

 private:
  const FileContext* file_ = nullptr;
  std::string file_name_;
  std::uint64_t address_ = 0;
};

/// While it lives, every name leads to an address. Task-local; one at a time.
class KnownAddress {
 public:
  explicit KnownAddress(std::uint64_t address);
  ~KnownAddress();
  KnownAddress(const KnownAddress&) = delete;
  KnownAddress& operator=(const KnownAddress&) = delete;

  /// Asked by the callback: true if that was the answer.
  static bool answers_lookup(H5VL_object_specific_args_t& args) noexcept;
};

}  // namespace bento::vol
