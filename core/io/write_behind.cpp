// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/io/write_behind.hpp"

#include <system_error>
#include <utility>

#include "core/base/guarded.hpp"

namespace bento {

namespace {
constexpr std::size_t kMostBytes = 4u << 20;
constexpr std::size_t kMostParts = 256;
constexpr std::size_t kKeptBuffers = 2;
}  // namespace

WriteBehind::WriteBehind(Write write) : write_(std::move(write)) {
  try {
    thread_ = std::thread([this] { work(); });
  } catch (const std::system_error&) {
    thread_ = {};  // whoever gives a part writes it
  }
}

WriteBehind::~WriteBehind() {
  stop(true);
}

std::vector<std::byte> WriteBehind::buffer(std::size_t bytes) {
  std::vector<std::byte> buffer;
  {
    const std::scoped_lock lock(mutex_);
    if (!written_.empty()) {
      buffer = std::move(written_.back());
      written_.pop_back();
    }
  }
  buffer.resize(bytes);
  return buffer;
}

Status WriteBehind::give(Part part) {
  std::unique_lock lock(mutex_);
  if (!thread_.joinable()) {
    if (done_) done_ = guarded([&] { return write_(part); });
    return done_;
  }
  changed_.wait(lock, [&] {
    return !done_ || (waiting_.size() < kMostParts &&
                      (bytes_ == 0 || bytes_ + part.bytes.size() <= kMostBytes));
  });
  if (!done_) return done_;
  bytes_ += part.bytes.size();
  waiting_.push_back(std::move(part));
  changed_.notify_all();
  return {};
}

Status WriteBehind::finish() {
  stop(false);
  return done_;
}

void WriteBehind::stop(bool drop) {
  {
    const std::scoped_lock lock(mutex_);
    last_given_ = true;
    if (drop) waiting_.clear();
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

void WriteBehind::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return last_given_ || !waiting_.empty(); });
    if (waiting_.empty() || !done_) return;
    Part part = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    Status done = guarded([&] { return write_(part); });
    lock.lock();
    bytes_ -= part.bytes.size();
    if (written_.size() < kKeptBuffers) written_.push_back(std::move(part.bytes));
    if (!done) done_ = std::move(done);
    changed_.notify_all();
  }
}

}  // namespace bento
