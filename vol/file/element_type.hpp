// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// The type of a dataset's elements as the file has it, and what every transfer asks about it. All
/// datasets of one of the library's own numbers share it.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>

#include <hdf5.h>

#include "core/base/error.hpp"
#include "hdf5/base/handle.hpp"

namespace bento::vol {

struct Object;

class ElementType {
 public:
  /// `id` must be of a transient type that nobody changes.
  explicit ElementType(TypeHandle id);
  /// Of one of the library's own numbers (predefined_number()). Owns nothing, so it may outlive the
  /// library.
  static ElementType of_number(hid_t number);

  [[nodiscard]] hid_t id() const { return id_; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  /// Have its elements members?
  [[nodiscard]] bool compound() const { return compound_; }
  /// An integer or a float. Equal ones mean the same wherever they are.
  [[nodiscard]] bool number() const { return number_; }
  /// Does `type` say the same?
  bool equals(hid_t type);

 private:
  explicit ElementType(hid_t id);

  hid_t id_;
  TypeHandle owned_;  ///< `id_`, unless it is one of the library's
  std::size_t bytes_;
  bool number_;
  bool compound_;
  std::optional<hid_t> predefined_;  ///< one of the library's, and equal to this
  std::optional<hid_t> other_;       ///< the last that was equal, and is none of the library's
};

/// The type of a dataset. `last` is where its file keeps the one of the library's own numbers that
/// was found last: most files have one. Errors: kInternal.
Result<std::shared_ptr<ElementType>> element_type_of(const Object* dataset, hid_t& last);
/// That of datasets which were created with this one of the library's own numbers.
std::shared_ptr<ElementType> element_type_of_number(hid_t number);

}  // namespace bento::vol
