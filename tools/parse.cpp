// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "tools/parse.hpp"

#include <charconv>
#include <cstdlib>
#include <string_view>

#include <fmt/format.h>

namespace bento::tools {

namespace {

template <class T>
bool whole_number(std::string_view text, T& into) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), into);
  return error == std::errc() && end == text.data() + text.size();
}

Status range_of(std::string_view text, std::uint64_t extent, std::uint64_t& from,
                std::uint64_t& count) {
  const auto colon = text.find(':');
  std::uint64_t to = extent;
  from = 0;
  bool read = !text.empty();
  if (colon == std::string_view::npos) {
    read = read && whole_number(text, from) && from < extent;
    to = from + 1;
  } else {
    const auto first = text.substr(0, colon);
    const auto last = text.substr(colon + 1);
    read = (first.empty() || whole_number(first, from)) && (last.empty() || whole_number(last, to));
  }
  if (!read || from > to || to > extent)
    return fail(Code::kInvalidArgument,
                fmt::format("'{}' is no part of the extent {}: write FROM:TO, TO not included",
                            text, extent));
  count = to - from;
  return {};
}

}  // namespace

Result<std::variant<std::int64_t, std::uint64_t, double>> parse_number(const std::string& text) {
  using Number = std::variant<std::int64_t, std::uint64_t, double>;
  std::int64_t small = 0;
  if (whole_number(text, small)) return Number(small);
  std::uint64_t large = 0;
  if (whole_number(text, large)) return Number(large);
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || end != text.c_str() + text.size() || value != value)
    return fail(Code::kInvalidArgument, fmt::format("'{}' is no number", text));
  return Number(value);
}

Result<Box> parse_box(const std::string& text, const Dims& extent) {
  Box box = Box::whole(extent);
  std::string_view rest = text;
  for (unsigned d = 0; d < extent.rank(); ++d) {
    const auto comma = rest.find(',');
    const bool last = d + 1 == extent.rank();
    if (last != (comma == std::string_view::npos))
      return fail(
          Code::kInvalidArgument,
          fmt::format("'{}' should have {} ranges with commas between", text, extent.rank()));
    BENTO_TRY(range_of(rest.substr(0, comma), extent[d], box.start[d], box.count[d]));
    if (!last) rest = rest.substr(comma + 1);
  }
  return box;
}

std::string box_text(const Box& box) {
  std::string text;
  for (unsigned d = 0; d < box.rank(); ++d)
    text += fmt::format("{}{}:{}", d == 0 ? "" : ",", box.start[d], box.start[d] + box.count[d]);
  return text.empty() ? "scalar" : text;
}

}  // namespace bento::tools
