// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "vol/file/arguments.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/base/hash.hpp"
#include "hdf5/base/handle.hpp"
#include "hdf5/base/quiet_errors.hpp"
#include "hdf5/base/types.hpp"

namespace bento::vol {

namespace {

std::string filters_text(hid_t dcpl, int filters) {
  std::string text;
  for (int i = 0; i < filters; ++i) {
    unsigned flags = 0;
    std::array<unsigned, 64> values{};
    std::size_t count = values.size();
    unsigned config = 0;
    const H5Z_filter_t filter = H5Pget_filter2(dcpl, static_cast<unsigned>(i), &flags, &count,
                                               values.data(), 0, nullptr, &config);
    if (filter < 0) continue;
    const std::span given(values.data(), std::min(count, values.size()));
    text += fmt::format(", filter {}", filter);
    if (!given.empty()) text += fmt::format(" ({})", fmt::join(given, ","));
  }
  return text;
}

// Of numbers only: bytes between the members of a compound value may be anything.
std::string fill_text(hid_t dcpl, hid_t type) {
  const H5T_class_t cls = H5Tget_class(type);
  double value = 0;
  if ((cls != H5T_INTEGER && cls != H5T_FLOAT) ||
      H5Pget_fill_value(dcpl, H5T_NATIVE_DOUBLE, &value) < 0)
    return {};
  return fmt::format(", filled with {}", value);
}

}  // namespace

std::string extent_text(std::span<const hsize_t> sizes) {
  std::string text;
  for (const hsize_t size : sizes) {
    if (!text.empty()) text += " x ";
    text += fmt::format_int(size).c_str();
  }
  return text;
}

std::string extent_text(hid_t space) {
  std::array<hsize_t, H5S_MAX_RANK> now{};
  std::array<hsize_t, H5S_MAX_RANK> most{};
  const int rank = H5Sget_simple_extent_dims(space, now.data(), most.data());
  if (rank <= 0) return H5Sget_simple_extent_type(space) == H5S_SCALAR ? "scalar" : "no extent";
  const auto dims = static_cast<std::size_t>(rank);
  std::string text = extent_text(std::span<const hsize_t>(now.data(), dims));
  if (now != most) {
    text += " up to ";
    for (std::size_t d = 0; d < dims; ++d)
      text += (d > 0 ? " x " : "") +
              (most[d] == H5S_UNLIMITED ? std::string("any") : fmt::format("{}", most[d]));
  }
  return text;
}

namespace {

std::string text_of_type(hid_t type) {
  const QuietErrors quiet;
  const ErrorStackKeeper keep;
  const TypeHandle plain(H5Tcopy(type));  // a committed type would be encoded as its address
  std::size_t bytes = 0;
  if (H5Tencode(plain.get(), nullptr, &bytes) < 0) return {};
  std::vector<std::byte> encoded(bytes);
  if (H5Tencode(plain.get(), encoded.data(), &bytes) < 0) return {};
  const Hash128 hash = hash128(encoded);
  return fmt::format("{} bytes each (type {:02x}{:02x}{:02x}{:02x})", H5Tget_size(plain.get()),
                     hash[0], hash[1], hash[2], hash[3]);
}

}  // namespace

// Every rank makes the text of every dataset that it creates, and most have one of these types.
std::string type_text(hid_t type) {
  static std::array<std::string, kPredefinedNumbers> known;
  const int number = predefined_number(type);
  if (number < 0) return text_of_type(type);
  std::string& text = known[static_cast<std::size_t>(number)];
  if (text.empty()) text = text_of_type(type);
  return text;
}

std::string creation_text(hid_t dcpl, const CreationFacts& facts, hid_t type) {
  std::string text;
  switch (facts.layout) {
    case H5D_CHUNKED:
      text = "chunks of " + extent_text(facts.chunk.view());
      break;
    case H5D_COMPACT:
      text = "compact";
      break;
    case H5D_VIRTUAL:
      text = "virtual";
      break;
    default:
      text = "contiguous";
      break;
  }
  if (facts.filters <= 0 && !facts.user_fill()) return text;
  const QuietErrors quiet;
  const ErrorStackKeeper keep;
  return text + filters_text(dcpl, facts.filters) +
         (facts.user_fill() ? fill_text(dcpl, type) : std::string());
}

}  // namespace bento::vol
