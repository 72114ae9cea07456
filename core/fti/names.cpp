// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/fti/names.hpp"

#include <array>
#include <charconv>
#include <utility>

#include <fmt/format.h>

namespace bento::fti {

namespace {

constexpr std::string_view kDifferentialStart = "dCPFile-Rank";
constexpr std::string_view kEnd = ".fti";
constexpr std::array kMiddles = {std::pair{FileKind::kRank, std::string_view("-Rank")},
                                 std::pair{FileKind::kPartner, std::string_view("-Pcof")},
                                 std::pair{FileKind::kRsed, std::string_view("-RSed")}};

template <class Number>
bool take_number(std::string_view& text, Number& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{}) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

bool take(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

}  // namespace

std::string format_name(const FileName& name) {
  if (name.kind == FileKind::kDifferential)
    return fmt::format("{}{}{}", kDifferentialStart, name.rank, kEnd);
  for (const auto& [kind, middle] : kMiddles)
    if (kind == name.kind)
      return fmt::format("Ckpt{}{}{}{}", name.ckpt_id, middle, name.rank, kEnd);
  return {};
}

std::optional<FileName> parse_name(std::string_view name) {
  FileName parsed;
  std::string_view rest = name;
  if (take(rest, kDifferentialStart)) {
    parsed.kind = FileKind::kDifferential;
  } else {
    if (!take(rest, "Ckpt") || !take_number(rest, parsed.ckpt_id)) return std::nullopt;
    bool known = false;
    for (const auto& [kind, middle] : kMiddles) {
      if (!take(rest, middle)) continue;
      parsed.kind = kind;
      known = true;
      break;
    }
    if (!known) return std::nullopt;
  }
  if (!take_number(rest, parsed.rank) || rest != kEnd) return std::nullopt;
  // Leading zeros and the like: FTI's pattern would not find such a file.
  if (format_name(parsed) != name) return std::nullopt;
  return parsed;
}

std::string local_folder(std::string_view execution_id, int level,
                         std::optional<std::uint32_t> test_node) {
  const std::string folder = fmt::format("{}/l{}", execution_id, level);
  return test_node ? fmt::format("node{}/{}", *test_node, folder) : folder;
}

std::string global_folder(std::string_view execution_id) {
  return fmt::format("{}/l4", execution_id);
}

}  // namespace bento::fti
