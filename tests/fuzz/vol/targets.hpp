// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Fuzz targets that need HDF5. Each leaves files in the working folder.
#pragma once

#include <hdf5.h>

#include "tests/fuzz/target.hpp"
#include "tests/fuzz/vol/walk_file.hpp"

namespace bento::fuzz {

void container(Input input);
/// The same, and what could still be read.
Seen container_seen(Input input);

/// HDF5 prints no errors while it lives.
class QuietFor {
 public:
  QuietFor() {
    H5Eget_auto2(H5E_DEFAULT, &function_, &data_);
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  }
  ~QuietFor() { H5Eset_auto2(H5E_DEFAULT, function_, data_); }
  QuietFor(const QuietFor&) = delete;
  QuietFor& operator=(const QuietFor&) = delete;

 private:
  H5E_auto2_t function_ = nullptr;
  void* data_ = nullptr;
};

}  // namespace bento::fuzz
