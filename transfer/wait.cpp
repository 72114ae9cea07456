// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include <algorithm>
#include <chrono>
#include <cstring>
#include <exception>
#include <set>
#include <string>
#include <thread>

#include <fmt/format.h>

#include "transfer/cache_note.hpp"
#include "transfer/daemon_lock.hpp"
#include "transfer/h5bento_transfer.h"
#include "transfer/kvtree_file.hpp"
#include "transfer/one_name.hpp"
#include "transfer/submit.hpp"
#include "transfer/transfer_file.hpp"

namespace bento::transfer {
namespace {

using Clock = std::chrono::steady_clock;

struct Answer {
  h5bento_transfer_result result = H5BENTO_TRANSFER_UNKNOWN;
  std::string why;
};

/// `names`: what the file may be called, each one_name().
Answer ask(const std::string& file, const std::string& path, const std::set<std::string>& names) {
  const auto tree = read_kvfile(file);
  if (!tree) return {H5BENTO_TRANSFER_UNKNOWN, tree.error().text};
  Answer answer{H5BENTO_TRANSFER_ARRIVED, {}};
  bool known = false;
  for (const auto& entry : read_state(*tree).entries) {
    if (!names.contains(one_name(entry.destination)) && !names.contains(one_name(entry.container)))
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
  std::set<std::string> names{one_name(path)};
  // What a program has submitted by itself.
  if (const auto real = final_name_of(path)) names.insert(one_name(*real));
  for (;;) {
    Answer answer = ask(file, path, names);
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
      answer = wait(clean_name(path),
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
