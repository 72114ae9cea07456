// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// The type of a dataset's elements as the file has it, and what every transfer asks about it.
/// Datasets of one file that are open at the same time share it where it is a plain number.
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

  [[nodiscard]] hid_t id() const { return id_.get(); }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  /// Have its elements members?
  [[nodiscard]] bool compound() const { return compound_; }
  /// An integer or a float. Equal ones mean the same wherever they are.
  [[nodiscard]] bool number() const { return number_; }
  /// Does `type` say the same?
  bool equals(hid_t type);

 private:
  TypeHandle id_;
  std::size_t bytes_;
  bool number_;
  bool compound_;
  std::optional<hid_t> predefined_;  ///< one of the library's, and equal to this
  std::optional<hid_t> other_;       ///< the last that was equal, and is none of the library's
};

/// The type of a dataset. `last` is where its file keeps the one that was asked for last: it lives
/// no longer than the datasets that have it, since it must be gone before the library closes types.
/// Errors: kInternal.
Result<std::shared_ptr<ElementType>> element_type_of(const Object* dataset,
                                                     std::weak_ptr<ElementType>& last);
/// That of a dataset which was created with one of the library's own numbers.
Result<std::shared_ptr<ElementType>> element_type_of(hid_t number,
                                                     std::weak_ptr<ElementType>& last);

}  // namespace bento::vol
