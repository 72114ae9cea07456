// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/joined/file_names.hpp"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

namespace bento {

namespace {

/// The last `count` components.
std::string_view last_components(std::string_view name, std::size_t count) {
  std::size_t at = name.size();
  for (; count > 0 && at != std::string_view::npos; --count)
    at = at == 0 ? std::string_view::npos : name.rfind('/', at - 1);
  return at == std::string_view::npos ? name : name.substr(at + 1);
}

std::string_view folder_of(std::string_view name) {
  const std::size_t slash = name.rfind('/');
  return slash == std::string_view::npos ? "." : name.substr(0, slash);
}

/// `runs` gets what each star stands for: as little as possible, from the first one on. Only the
/// last star is ever changed: one before it never needs to be, as in any match of shell patterns,
/// so the work is at most length of pattern times length of name.
bool matches(std::string_view pattern, std::string_view name, std::vector<std::string>& runs) {
  struct Star {
    std::size_t pattern;
    std::size_t begin;  // in the name
    std::size_t end;
  };
  std::vector<Star> stars;
  std::size_t p = 0;
  std::size_t n = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      stars.push_back({p++, n, n});
    } else if (p < pattern.size() &&
               (pattern[p] == name[n] || (pattern[p] == '?' && name[n] != '/'))) {
      ++p;
      ++n;
    } else if (!stars.empty() && name[stars.back().end] != '/') {
      // The last star takes one more.
      n = ++stars.back().end;
      p = stars.back().pattern + 1;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') stars.push_back({p++, n, n});
  if (p < pattern.size()) return false;
  for (const auto& star : stars) runs.emplace_back(name.substr(star.begin, star.end - star.begin));
  return true;
}

}  // namespace

Result<ContainerTemplate> ContainerTemplate::parse(std::string match, std::string container) {
  if (container.empty())
    return fail(Code::kInvalidArgument,
                "container= is missing: the driver needs HDF5_DRIVER_CONFIG='container=PATH', or "
                "that text behind --vfd-info of a tool");
  if (match.empty()) return fail(Code::kInvalidArgument, "match= is empty; accepted is a pattern");
  const auto stars = static_cast<std::size_t>(std::ranges::count(match, '*'));
  for (std::size_t i = 0; i < container.size(); ++i) {
    if (container[i] != '%') continue;
    const char letter = ++i < container.size() ? container[i] : '\0';
    if (letter == 's' || letter == 'd' || letter == '%') continue;
    if (letter < '1' || letter > '9')
      return fail(Code::kInvalidArgument,
                  fmt::format("container={}: behind % there may be 1 to 9, s, d or %", container));
    if (static_cast<std::size_t>(letter - '0') > stars)
      return fail(Code::kInvalidArgument, fmt::format("container={}: %{} needs a star in match={}",
                                                      container, letter, match));
  }
  ContainerTemplate made;
  made.match_ = std::move(match);
  made.container_ = std::move(container);
  return made;
}

std::optional<std::string> ContainerTemplate::container_of(const std::string& file) const {
  const auto slashes = static_cast<std::size_t>(std::ranges::count(match_, '/'));
  const bool rooted = match_.front() == '/';
  const std::string_view held =
      rooted ? std::string_view(file) : last_components(file, slashes + 1);
  std::vector<std::string> runs;
  if (!matches(match_, held, runs)) return std::nullopt;
  std::string name;
  for (std::size_t i = 0; i < container_.size(); ++i) {
    if (container_[i] != '%')
      name += container_[i];
    else if (const char letter = container_[++i]; letter == '%')
      name += '%';
    else if (letter == 's')
      name += last_components(file, 1);
    else if (letter == 'd')
      name += folder_of(file);
    else
      name += runs[static_cast<std::size_t>(letter - '1')];
  }
  return name;
}

}  // namespace bento
