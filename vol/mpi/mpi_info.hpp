// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Owner of an MPI_Info object.
#pragma once

#include <mpi.h>

#include "core/io/private_descriptor.hpp"
#include "vol/mpi/mpi_constants.hpp"

namespace bento::vol {

/// Frees the object unless MPI is finalised by then, or this is a forked child, which makes no MPI
/// call.
class OwnedInfo {
 public:
  explicit OwnedInfo(MPI_Info info) : info_(info) {}
  ~OwnedInfo() {
    if (home_.elsewhere()) return;
    int gone = 0;
    MPI_Finalized(&gone);
    if (gone == 0 && info_ != mpi_constants().info_null) MPI_Info_free(&info_);
  }
  OwnedInfo(const OwnedInfo&) = delete;
  OwnedInfo& operator=(const OwnedInfo&) = delete;

  [[nodiscard]] MPI_Info get() const { return info_; }

 private:
  HomeProcess home_;
  MPI_Info info_;
};

}  // namespace bento::vol
