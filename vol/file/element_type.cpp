// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "vol/file/element_type.hpp"

#include <array>
#include <utility>

#include "hdf5/base/types.hpp"
#include "vol/file/native_dataset.hpp"

namespace bento::vol {

namespace {

bool is_number(hid_t type) {
  const H5T_class_t kind = H5Tget_class(type);
  return kind == H5T_INTEGER || kind == H5T_FLOAT;
}

/// The one of the library's own numbers that says the same; H5I_INVALID_HID if there is none.
hid_t number_like(hid_t type) {
  const H5T_class_t kind = H5Tget_class(type);
  const std::size_t bytes = H5Tget_size(type);
  for (const hid_t number : predefined_numbers())
    if (H5Tget_size(number) == bytes && H5Tget_class(number) == kind && H5Tequal(number, type) > 0)
      return number;
  return H5I_INVALID_HID;
}

}  // namespace

ElementType::ElementType(hid_t id)
    : id_(id),
      bytes_(H5Tget_size(id)),
      number_(is_number(id)),
      compound_(!number_ && has_compound(id)) {}

ElementType::ElementType(TypeHandle id) : ElementType(id.get()) {
  owned_ = std::move(id);
}

ElementType ElementType::of_number(hid_t number) {
  ElementType type(number);
  type.predefined_ = number;
  return type;
}

bool ElementType::equals(hid_t type) {
  if (predefined_ == type) return true;
  if (H5Tequal(type, id_) <= 0) return false;
  if (other_ == type) return true;
  (is_predefined_number(type) ? predefined_ : other_) = type;
  return true;
}

Result<std::shared_ptr<ElementType>> element_type_of(const Object* dataset, hid_t& last) {
  BENTO_ASSIGN(TypeHandle opened, native_type(dataset));
  if (is_predefined_number(last) && H5Tequal(opened.get(), last) > 0)
    return element_type_of_number(last);
  if (is_number(opened.get())) {
    if (const hid_t number = number_like(opened.get()); number >= 0) {
      last = number;
      return element_type_of_number(number);
    }
  }
  // A transient copy of a committed one serves conversions as well.
  if (H5Tcommitted(opened.get()) != 0) opened = TypeHandle(H5Tcopy(opened.get()));
  return std::make_shared<ElementType>(std::move(opened));
}

// The library gives its numbers other ids if it begins anew.
std::shared_ptr<ElementType> element_type_of_number(hid_t number) {
  static std::array<std::shared_ptr<ElementType>, kPredefinedNumbers> known;
  auto& type = known.at(static_cast<std::size_t>(predefined_number(number)));
  if (!type || type->id() != number)
    type = std::make_shared<ElementType>(ElementType::of_number(number));
  return type;
}

}  // namespace bento::vol
