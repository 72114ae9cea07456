// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/joined/placeholder.hpp"

#include <string_view>

#include "core/layout/empty_view.hpp"

namespace bento {

namespace {
constexpr std::string_view kText =
    "The HDF5 files of several processes lie in this one. Set HDF5_DRIVER=bento and "
    "HDF5_DRIVER_CONFIG=container=FILE, and open them by their own names.";
}  // namespace

std::vector<std::byte> placeholder(std::uint64_t superblock_address, std::uint64_t length) {
  return empty_view(superblock_address, length, kText);
}

Result<bool> has_placeholder(File& file, const FilePlan& plan, std::uint64_t length) {
  const auto wanted = placeholder(plan.superblock_address(), length);
  std::vector<std::byte> there(wanted.size());
  BENTO_ASSIGN(const std::size_t got, file.read_some(plan.superblock_address(), there));
  return got == there.size() && there == wanted;
}

}  // namespace bento
