// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// How much of the beginning of each physical file of a container is read no more while another
/// file is made of it.
#pragma once

#include <cstdint>
#include <vector>

#include "core/container/container.hpp"

namespace bento::vol {

/// Takes a few KiB for each physical file, however many records there are. Not thread-safe.
class SourceUse {
 public:
  explicit SourceUse(const ContainerPlan& plan) : plan_(&plan), files_(plan.files()) {}

  /// Data of the record stands in the other file below `address` only.
  void used_below(const Record& record, std::uint64_t address);
  /// For each physical file: below it nothing is read any more once everything in the other file
  /// below `address` is there. The largest number if nothing of it is.
  [[nodiscard]] std::vector<std::uint64_t> free_below(std::uint64_t address) const;

 private:
  /// By where records begin, in steps of 2^shift bytes: the largest address of any of them.
  struct File {
    unsigned shift = 16;
    std::vector<std::uint64_t> used;
  };

  const ContainerPlan* plan_;
  std::vector<File> files_;
};

}  // namespace bento::vol
