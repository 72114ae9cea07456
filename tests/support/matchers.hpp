// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// What tests ask of a Result: success with the error's text shown otherwise, or an error of a
/// certain kind that says certain words.
#pragma once

#include <initializer_list>
#include <string_view>

#include <fmt/format.h>
#include <catch2/catch_test_macros.hpp>

#include "core/base/error.hpp"

namespace bento::test {

template <class T>
void require_ok(const Result<T>& result) {
  if (!result) FAIL(fmt::format("{}: {}", to_string(result.error().code), result.error().text));
  SUCCEED();
}

/// The value of a result that must be one.
template <class T>
T must(Result<T> result) {
  require_ok(result);
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

template <class T>
void require_error(const Result<T>& result, Code code,
                   std::initializer_list<std::string_view> words = {}) {
  REQUIRE_FALSE(result);
  INFO("error text: " << result.error().text);
  CHECK(to_string(result.error().code) == to_string(code));
  for (const auto word : words) {
    INFO("missing: " << word);
    CHECK(result.error().text.find(word) != std::string::npos);
  }
}

}  // namespace bento::test
