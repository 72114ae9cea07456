// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "vol/file/element_type.hpp"

#include <utility>

#include "hdf5/base/types.hpp"
#include "vol/file/native_dataset.hpp"

namespace bento::vol {

namespace {

bool is_number(hid_t type) {
  const H5T_class_t kind = H5Tget_class(type);
  return kind == H5T_INTEGER || kind == H5T_FLOAT;
}

}  // namespace

ElementType::ElementType(TypeHandle id)
    : id_(std::move(id)),
      bytes_(H5Tget_size(id_.get())),
      number_(is_number(id_.get())),
      compound_(!number_ && has_compound(id_.get())) {}

bool ElementType::equals(hid_t type) {
  if (predefined_ == type) return true;
  if (H5Tequal(type, id_.get()) <= 0) return false;
  if (other_ == type) return true;
  (is_predefined_number(type) ? predefined_ : other_) = type;
  return true;
}

Result<std::shared_ptr<ElementType>> element_type_of(const Object* dataset,
                                                     std::weak_ptr<ElementType>& last) {
  BENTO_ASSIGN(TypeHandle opened, native_type(dataset));
  if (auto known = last.lock(); known && H5Tequal(opened.get(), known->id()) > 0) return known;
  // A transient copy of a committed one serves conversions as well.
  if (H5Tcommitted(opened.get()) != 0) opened = TypeHandle(H5Tcopy(opened.get()));
  auto type = std::make_shared<ElementType>(std::move(opened));
  if (type->number()) last = type;
  return type;
}

Result<std::shared_ptr<ElementType>> element_type_of(hid_t number,
                                                     std::weak_ptr<ElementType>& last) {
  if (auto known = last.lock(); known && known->equals(number)) return known;
  TypeHandle copy(H5Tcopy(number));
  if (!copy.valid()) return fail(Code::kInternal, "datatype unreadable");
  auto type = std::make_shared<ElementType>(std::move(copy));
  last = type;
  return type;
}

}  // namespace bento::vol
