// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include <algorithm>
#include <chrono>
#include <cstring>
#include <exception>
#include <filesystem>
#include <string>
#include <thread>

#include <fmt/format.h>

#include "core/layout/names.hpp"
#include "transfer/cache_note.hpp"
#include "transfer/daemon_lock.hpp"
#include "transfer/h5bento_transfer.h"
#include "transfer/kvtree_file.hpp"
#include "transfer/submit.hpp"
#include "transfer/transfer_file.hpp"

namespace bento::transfer {
namespace {

using Clock = std::chrono::steady_clock;

struct Answer {
  h5bento_transfer_result result = H5BENTO_TRANSFER_UNKNOWN;
  std::string why;
};

Answer ask(const std::string& file, const std::string& path, const std::string& real) {
  const auto tree = read_kvfile(file);
  if (!tree) return {H5BENTO_TRANSFER_UNKNOWN, tree.error().text};
  Answer answer{H5BENTO_TRANSFER_ARRIVED, {}};
  bool known = false;
  for (const auto& entry : read_state(*tree).entries) {
    if (entry.destination != path && entry.container != path && entry.destination != real &&
        entry.container != real)
      continue;
    known = true;
    if (entry.failed) return {H5BENTO_TRANSFER_FAILED, entry.problem};
    if (!entry.complete())
      answer = {H5BENTO_TRANSFER_LATE, entry.problem.empty()
                                           ? fmt::format("'{}': {} of {} bytes", entry.destination,
                                                         entry.progress(), entry.size)
                                           : entry.problem};
  }
  if (!known) return {H5BENTO_TRANSFER_UNKNOWN, fmt::format("'{}' is not in '{}'", path, file)};
  if (answer.result == H5BENTO_TRANSFER_LATE && !DaemonLock::held(file))
    return {H5BENTO_TRANSFER_UNKNOWN, fmt::format("no daemon runs for '{}'", file)};
  return answer;
}

Answer wait(const std::string& path, const std::string& file, double seconds) {
  const auto begun = Clock::now();
  const auto real = final_name_of(path);  // what a program has submitted by itself
  for (;;) {
    Answer answer = ask(file, path, real ? *real : path);
    const std::chrono::duration<double> passed = Clock::now() - begun;
    if (answer.result != H5BENTO_TRANSFER_LATE || (seconds >= 0 && passed.count() >= seconds))
      return answer;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

}  // namespace
}  // namespace bento::transfer

extern "C" int h5bento_transfer_wait(const char* path, const char* transfer_file, double seconds,
                                     char* message, size_t message_bytes) {
  using namespace bento::transfer;
  Answer answer;
  try {
    if (path == nullptr || *path == '\0') {
      answer.why = "no path";
    } else {
      const auto whole = std::filesystem::path(bento::absolute_name(path)).lexically_normal();
      answer = wait(whole.string(),
                    transfer_file != nullptr ? transfer_file : default_transfer_file(), seconds);
    }
  } catch (const std::exception& error) {
    answer = {H5BENTO_TRANSFER_UNKNOWN, error.what()};
  }
  if (message != nullptr && message_bytes > 0) {
    const std::size_t bytes = std::min(answer.why.size(), message_bytes - 1);
    std::memcpy(message, answer.why.data(), bytes);
    message[bytes] = '\0';
  }
  return answer.result;
}
