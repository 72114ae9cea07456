// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Small reads that follow each other in files: what lies behind one of them is read together with
/// it. Not thread-safe; task-local.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "core/base/error.hpp"
#include "core/io/file.hpp"

namespace bento {

class ReadAhead {
 public:
  /// No byte at or behind `end` is read that was not asked for: there it may change before it is
  /// asked for.
  static constexpr std::uint64_t kNothingMore = 0;
  static constexpr std::uint64_t kAllTheFile = ~std::uint64_t{0};

  /// Fills `into`, from memory if these bytes were read ahead since clear(). Errors: as
  /// File::read_at(), of the bytes asked for only.
  Status read(File& file, std::uint64_t address, std::span<std::byte> into, std::uint64_t end);
  /// Forgets all bytes: what is read from now on is what is in the files now.
  void clear();
  /// How often a file was asked.
  [[nodiscard]] std::uint64_t file_reads() const { return file_reads_; }
  void count_file_read() { ++file_reads_; }

 private:
  /// One sequence of reads, and what was read ahead of it.
  struct Sequence {
    const File* file = nullptr;
    std::uint64_t begin = 0;  ///< address of `bytes`
    std::size_t count = 0;    ///< of them
    std::unique_ptr<std::byte[]> bytes;
    std::size_t room = 0;    ///< of `bytes`
    std::uint64_t next = 0;  ///< behind the last read
    std::size_t ahead = 0;   ///< bytes that the next one takes
    std::uint64_t used = 0;
  };

  bool give(Sequence& sequence, const File& file, std::uint64_t address, std::span<std::byte> into);
  bool fill(Sequence& sequence, File& file, std::uint64_t address, std::size_t wanted,
            std::uint64_t end);

  std::array<Sequence, 8> sequences_;
  std::size_t last_ = 0;  ///< the sequence that was read last
  std::uint64_t clock_ = 0;
  std::uint64_t file_reads_ = 0;
};

/// A file that is read through a ReadAhead. Both must outlive it. What is written to it goes
/// straight to the file.
class FileAhead final : public File {
 public:
  FileAhead(File& file, ReadAhead& ahead, std::uint64_t end)
      : file_(file), ahead_(ahead), end_(end) {}
  /// ReadAhead::read().
  void read_up_to(std::uint64_t end) { end_ = end; }

  Status read_at(std::uint64_t offset, std::span<std::byte> into) override {
    return ahead_.read(file_, offset, into, end_);
  }
  Result<std::size_t> read_some(std::uint64_t offset, std::span<std::byte> into) override {
    ahead_.count_file_read();
    return file_.read_some(offset, into);
  }
  Status write_at(std::uint64_t offset, std::span<const std::byte> from) override {
    ahead_.clear();
    return file_.write_at(offset, from);
  }
  Result<std::uint64_t> size() override { return file_.size(); }
  Status truncate(std::uint64_t bytes) override {
    ahead_.clear();
    return file_.truncate(bytes);
  }
  Status sync() override { return file_.sync(); }
  Status close() override { return file_.close(); }
  [[nodiscard]] const std::string& path() const override { return file_.path(); }
  [[nodiscard]] int descriptor() const override { return file_.descriptor(); }

 private:
  File& file_;
  ReadAhead& ahead_;
  std::uint64_t end_;
};

}  // namespace bento
