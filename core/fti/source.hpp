// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Where FTI-FF bytes come from: a file, a buffer, or one task's logical stream inside a container.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>

#include "core/base/error.hpp"
#include "core/fti/checksum.hpp"
#include "core/io/file.hpp"

namespace bento::fti {

/// Random access to bytes. Implementations need not be thread-safe.
class Source {
 public:
  virtual ~Source() = default;

  virtual Result<std::uint64_t> size() = 0;
  /// Fills `into` completely. Errors: kCorrupt (end inside the range), kIo.
  virtual Status read_at(std::uint64_t offset, std::span<std::byte> into) = 0;
  /// For error texts: a path, or "stream of task 3 in PATH".
  [[nodiscard]] virtual std::string name() const = 0;
};

/// A whole file, which must outlive this.
class FileSource final : public Source {
 public:
  explicit FileSource(File& file) : file_(file) {}
  Result<std::uint64_t> size() override { return file_.size(); }
  Status read_at(std::uint64_t offset, std::span<std::byte> into) override {
    return file_.read_at(offset, into);
  }
  [[nodiscard]] std::string name() const override { return file_.path(); }

 private:
  File& file_;
};

/// A buffer, which must outlive this.
class MemorySource final : public Source {
 public:
  explicit MemorySource(std::span<const std::byte> bytes, std::string name = "buffer")
      : bytes_(bytes), name_(std::move(name)) {}
  Result<std::uint64_t> size() override { return bytes_.size(); }
  Status read_at(std::uint64_t offset, std::span<std::byte> into) override;
  [[nodiscard]] std::string name() const override { return name_; }

 private:
  std::span<const std::byte> bytes_;
  std::string name_;
};

/// Hands the bytes [begin, end) of `source` to `use` in pieces of at most 1 MiB, in order, so that
/// memory stays bounded whatever a file claims. Errors: those of read_at.
Status for_each_piece(Source& source, std::uint64_t begin, std::uint64_t end,
                      const std::function<void(std::span<const std::byte>)>& use);

/// MD5 of the bytes [begin, end) of `source` as hexadecimal text. Errors: those of read_at.
Result<ChecksumText> md5_text(Source& source, std::uint64_t begin, std::uint64_t end);

}  // namespace bento::fti
