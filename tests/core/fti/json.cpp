// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "tests/core/fti/json.hpp"

#include <cctype>
#include <charconv>
#include <stdexcept>

namespace bento::test {

namespace {

class Parser {
 public:
  explicit Parser(std::string_view text) : rest_(text) {}

  Json document() {
    Json value = parse();
    blanks();
    if (!rest_.empty()) odd("text behind the document");
    return value;
  }

 private:
  [[noreturn]] static void odd(const char* what) {
    throw std::runtime_error(std::string("json: ") + what);
  }

  void blanks() {
    while (!rest_.empty() && std::isspace(static_cast<unsigned char>(rest_.front())) != 0)
      rest_.remove_prefix(1);
  }
  bool take(std::string_view token) {
    blanks();
    if (!rest_.starts_with(token)) return false;
    rest_.remove_prefix(token.size());
    return true;
  }
  void need(std::string_view token) {
    if (!take(token)) odd("another token expected");
  }

  Json parse() {
    Json value;
    if (take("{")) {
      value.type = Json::Type::kObject;
      if (take("}")) return value;
      do {
        blanks();
        std::string key = text();
        need(":");
        value.object.emplace(std::move(key), parse());
      } while (take(","));
      need("}");
    } else if (take("[")) {
      value.type = Json::Type::kArray;
      if (take("]")) return value;
      do value.array.push_back(parse());
      while (take(","));
      need("]");
    } else if (take("true") || take("false")) {
      value.type = Json::Type::kBool;
      value.flag = *(rest_.data() - 2) == 'u';
    } else if (take("null")) {
    } else if (rest_.starts_with('"')) {
      value.type = Json::Type::kText;
      value.text = text();
    } else {
      value.type = Json::Type::kNumber;
      const auto [end, error] =
          std::from_chars(rest_.data(), rest_.data() + rest_.size(), value.number);
      if (error != std::errc{}) odd("a value expected");
      rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    }
    return value;
  }

  std::string text() {
    if (!rest_.starts_with('"')) odd("a string expected");
    const auto end = rest_.find('"', 1);
    if (end == std::string_view::npos) odd("string without end");
    std::string out(rest_.substr(1, end - 1));
    if (out.find('\\') != std::string::npos) odd("escapes are not needed here");
    rest_.remove_prefix(end + 1);
    return out;
  }

  std::string_view rest_;
};

}  // namespace

Json parse_json(std::string_view text) {
  return Parser(text).document();
}

}  // namespace bento::test
