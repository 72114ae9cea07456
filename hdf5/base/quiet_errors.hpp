// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Keeps the library from printing error stacks of calls that we make ourselves.
#pragma once

#include <hdf5.h>

namespace bento::vol {

/// The library prints error stacks by itself when one of our nested calls fails; what failed is
/// reported by us.
class QuietErrors {
 public:
  QuietErrors() {
    H5Eauto_is_v2(H5E_DEFAULT, &second_);
    if (second_ != 0) {
      H5Eget_auto2(H5E_DEFAULT, &function_, &data_);
      H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
    } else {  // programs of the 1.6 interface
      H5Eget_auto1(&old_function_, &data_);
      H5Eset_auto1(nullptr, nullptr);
    }
  }
  ~QuietErrors() {
    if (second_ != 0)
      H5Eset_auto2(H5E_DEFAULT, function_, data_);
    else
      H5Eset_auto1(old_function_, data_);
  }
  QuietErrors(const QuietErrors&) = delete;
  QuietErrors& operator=(const QuietErrors&) = delete;

 private:
  unsigned second_ = 1;
  H5E_auto2_t function_ = nullptr;
  H5E_auto1_t old_function_ = nullptr;
  void* data_ = nullptr;
};

}  // namespace bento::vol
