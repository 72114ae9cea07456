// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "tools/output.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "core/base/printable.hpp"

namespace bento::tools {

std::size_t screen_columns() {
  constexpr std::size_t kUsual = 80;
  constexpr std::size_t kLeast = 40;
  std::size_t columns = 0;
  if (const char* const asked = std::getenv("COLUMNS"); asked != nullptr)
    columns = std::strtoul(asked, nullptr, 10);
  winsize size{};
  if (columns == 0 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) columns = size.ws_col;
  if (columns == 0) columns = kUsual;
  return columns < kLeast ? kLeast : columns;
}

void Output::put(const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) broken_ = true;
}

void Output::note(const std::string& text) {
  std::fprintf(stderr, "%s\n", printable_lines(text).c_str());
}

void Output::error(const Error& error) {
  answer_["error"] = complain(error);
}

Json Output::complain(const Error& error) {
  std::fflush(stdout);
  std::fprintf(stderr, "h5bento %s: %s\n", command_.c_str(), printable_lines(error.text).c_str());
  return {{"code", to_string(error.code)}, {"text", error.text}};
}

Status Output::flush() {
  if (std::fflush(stdout) != 0 || broken_)
    return fail(os_error(errno, "writing the answer to", "the standard output"));
  return {};
}

Status Output::finish(int status) {
  if (json_) {
    answer_["status"] = status;
    // A path may be any bytes; JSON is UTF-8.
    put(answer_.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
  }
  return flush();
}

}  // namespace bento::tools
