// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// A file that hands every call on to another one: for tests that change one of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "core/io/file.hpp"

namespace bento::test {

class ForwardingFile : public File {
 public:
  explicit ForwardingFile(std::unique_ptr<File> below) : below_(std::move(below)) {}
  Result<std::size_t> read_some(std::uint64_t offset, std::span<std::byte> into) override {
    return below_->read_some(offset, into);
  }
  Status write_at(std::uint64_t offset, std::span<const std::byte> from) override {
    return below_->write_at(offset, from);
  }
  Result<std::uint64_t> size() override { return below_->size(); }
  Status truncate(std::uint64_t bytes) override { return below_->truncate(bytes); }
  Status sync() override { return below_->sync(); }
  Status close() override { return below_->close(); }
  [[nodiscard]] const std::string& path() const override { return below_->path(); }

 protected:
  [[nodiscard]] File& below() { return *below_; }

 private:
  std::unique_ptr<File> below_;
};

}  // namespace bento::test
