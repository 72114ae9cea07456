// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "hdf5/data/missing_filter.hpp"

#include <array>

#include <fmt/format.h>

namespace bento::vol {

std::string missing_filter(hid_t dcpl, std::uint32_t skipped) {
  const int count = H5Pget_nfilters(dcpl);
  for (int i = 0; i < count; ++i) {
    if (i < 32 && (skipped >> i & 1u) != 0) continue;
    unsigned flags = 0;
    std::size_t values = 0;
    std::array<char, 80> name{};
    const H5Z_filter_t filter = H5Pget_filter2(dcpl, static_cast<unsigned>(i), &flags, &values,
                                               nullptr, name.size() - 1, name.data(), nullptr);
    htri_t there = -1;
    H5E_BEGIN_TRY {
      there = H5Zfilter_avail(filter);
    }
    H5E_END_TRY
    if (there <= 0)
      return name[0] == 0 ? fmt::format("filter {}", filter)
                          : fmt::format("filter {} ({})", filter, name.data());
  }
  return {};
}

}  // namespace bento::vol
