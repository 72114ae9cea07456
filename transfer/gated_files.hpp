// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Files that wait at a gate before they are read or written, for what reads and makes containers
/// and knows nothing of limits, and does not always hand on why a file has failed. Several threads
/// may use them, each its own file: one of them at a time is at the gate.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include "core/base/error.hpp"
#include "core/io/file.hpp"
#include "transfer/gate.hpp"

namespace bento::transfer {

class GatedFiles {
 public:
  /// Called when what was written is durable, after each burst, or some seconds if that takes
  /// longer, by the thread that wrote. False: stop.
  using Durable = std::function<Result<bool>()>;

  explicit GatedFiles(Gate& gate, Durable durable = {})
      : gate_(gate), durable_(std::move(durable)) {}
  GatedFiles(const GatedFiles&) = delete;
  GatedFiles& operator=(const GatedFiles&) = delete;

  /// Opens such files; they and the opener must not outlive this.
  [[nodiscard]] FileOpener opener();
  /// The gate, or who was told that something is durable, said stop: every call fails since then.
  [[nodiscard]] bool stopped() const { return stopped_; }
  /// The first error of a file, with its errno. Only while no other thread uses the files.
  [[nodiscard]] const std::optional<Error>& failure() const { return failure_; }

 private:
  class GatedFile;
  /// Waits at the gate. Returns how many bytes may be written before the next time.
  Result<std::uint64_t> pass();
  Status count(File& file, std::uint64_t bytes);
  template <class Done>
  Done noted(Done done) {
    if (done) return done;
    const std::scoped_lock lock(failure_mutex_);
    if (!failure_ && !stopped_) failure_ = done.error();
    return done;
  }

  Gate& gate_;
  Durable durable_;
  std::mutex gate_mutex_;  ///< whoever waits at the gate lets nobody pass
  std::mutex failure_mutex_;
  std::atomic<bool> stopped_ = false;
  std::optional<Error> failure_;
  std::uint64_t since_ = 0;  ///< written since the last burst was durable
  std::chrono::steady_clock::time_point durable_at_ = std::chrono::steady_clock::now();
};

}  // namespace bento::transfer
