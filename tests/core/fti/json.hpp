// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Just enough JSON to read the manifest of the golden files: throws on anything odd.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace bento::test {

struct Json {
  enum class Type { kNull, kBool, kNumber, kText, kArray, kObject };
  Type type = Type::kNull;
  bool flag = false;
  std::int64_t number = 0;  // the manifest has no fractions
  std::string text;
  std::vector<Json> array;
  std::map<std::string, Json> object;

  [[nodiscard]] bool has(const std::string& key) const { return object.contains(key); }
  [[nodiscard]] const Json& operator[](const std::string& key) const { return object.at(key); }
};

Json parse_json(std::string_view text);

}  // namespace bento::test
