// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// A descriptor of the operating system that closes itself, and the few calls on descriptors that
/// the transfer component needs beside core/io: on names below an open folder, and on whole small
/// files. All of them go on after a signal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/error.hpp"

namespace bento::transfer {

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() { close(); }
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    if (this != &other) {
      close();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  [[nodiscard]] int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  void close();

 private:
  int fd_ = -1;
};

/// openat(). `shown` is the name for errors.
Result<Descriptor> open_at(int folder, const std::string& name, int flags, unsigned mode,
                           const std::string& shown);
/// fsync(). Errors: kIo, kNoSpace.
Status sync(int fd, const std::string& shown);
/// All bytes from the start on; at most `most`, else kUnsupported.
Result<std::vector<std::byte>> read_whole(int fd, std::uint64_t most, const std::string& shown);
/// Writes all of it at `offset`.
Status write_whole(int fd, std::uint64_t offset, std::span<const std::byte> bytes,
                   const std::string& shown);

/// The folder of a path, "." if it names none, and what follows it.
std::string folder_of(const std::string& path);
std::string base_of(const std::string& path);

}  // namespace bento::transfer
