// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Where a command prints: text for people, or one JSON object for scripts; errors and progress go
/// to the standard error. Not thread-safe.
#pragma once

#include <cstddef>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/base/error.hpp"

namespace bento::tools {

using Json = nlohmann::ordered_json;

/// Columns of the terminal behind the standard output; 80 if there is none or it does not say. The
/// variable COLUMNS goes first.
std::size_t screen_columns();

class Output {
 public:
  explicit Output(bool json) : json_(json) {}

  /// Shall the answer be JSON? Then print() does nothing.
  [[nodiscard]] bool json() const { return json_; }
  /// Text for people.
  template <class... Args>
  void print(fmt::format_string<Args...> format, Args&&... args) {
    if (!json_) put(fmt::format(format, std::forward<Args>(args)...));
  }
  /// A line on the standard error, with JSON and without: something the user should know that is
  /// not part of the answer.
  void note(const std::string& text);
  /// The answer for scripts, printed by finish(). Without --json it is not looked at.
  [[nodiscard]] Json& answer() { return answer_; }
  /// Prints "h5bento COMMAND: TEXT"; in JSON also as "error": {"code", "text"}.
  void error(const Error& error);
  /// The same without ending the command: one of several files failed. Returns the JSON of it.
  Json complain(const Error& error);
  /// For complain().
  void set_command(const std::string& command) { command_ = command; }
  /// Brings what was printed so far to the reader; for what goes on for long. Errors: kIo.
  Status flush();
  /// Prints the JSON with "status" in it, and flushes. Errors: kIo (the answer could not be
  /// written).
  Status finish(int status);

 private:
  void put(const std::string& text);

  bool json_;
  bool broken_ = false;
  std::string command_;
  Json answer_ = Json::object();
};

}  // namespace bento::tools
