// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// The connector over files that end the process at the n-th change: what a kill leaves behind,
/// at every moment that can be told apart. Environment:
///   BENTO_FAULT_AT     which write, sync, truncate or create, counted from 1 over all files
///   BENTO_FAULT_TORN   1: half of that write still arrives, up to the end of a sector
///   BENTO_FAULT_RANK   which rank of MPI_COMM_WORLD dies (default 0; Open MPI)
///   BENTO_FAULT_COUNT  name of a file: gets the number of changes so far, as text
#include <H5PLextern.h>

#include <charconv>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "core/io/file.hpp"
#include "vol/callbacks/callbacks.hpp"
#include "vol/file/container_open.hpp"

namespace {

using bento::File;
using bento::OpenMode;
using bento::Result;
using bento::Status;

constexpr int kExit = 42;               // what the tests look for
constexpr std::uint64_t kSector = 512;  // a kill tears no smaller piece

std::uint64_t number_of(const char* name) {
  const char* const text = std::getenv(name);
  std::uint64_t value = 0;
  if (text != nullptr) {
    const std::string_view view(text);
    std::from_chars(view.data(), view.data() + view.size(), value);
  }
  return value;
}

/// Counts the changes of this process.
class Clock {
 public:
  Clock()
      : dies_here_(number_of("OMPI_COMM_WORLD_RANK") == number_of("BENTO_FAULT_RANK")),
        at_(number_of("BENTO_FAULT_AT")),
        torn_(number_of("BENTO_FAULT_TORN") != 0) {
    const char* const name = std::getenv("BENTO_FAULT_COUNT");
    if (dies_here_ && name != nullptr) count_ = ::open(name, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  }

  /// True if this is the change at which the process ends.
  bool tick() {
    ++now_;
    if (count_ >= 0) {
      const std::string text = std::to_string(now_);
      if (::pwrite(count_, text.data(), text.size(), 0) < 0) ::_exit(1);
    }
    return dies_here_ && now_ == at_;
  }
  [[nodiscard]] bool torn() const { return torn_; }

 private:
  bool dies_here_;
  std::uint64_t at_;
  bool torn_;
  std::uint64_t now_ = 0;
  int count_ = -1;
};

Clock& ticking() {
  static Clock instance;
  return instance;
}

class DyingFile final : public File {
 public:
  explicit DyingFile(std::unique_ptr<File> file) : file_(std::move(file)) {}

  Status read_at(std::uint64_t offset, std::span<std::byte> into) override {
    return file_->read_at(offset, into);
  }
  Result<std::size_t> read_some(std::uint64_t offset, std::span<std::byte> into) override {
    return file_->read_some(offset, into);
  }
  Status write_at(std::uint64_t offset, std::span<const std::byte> from) override {
    if (ticking().tick()) {
      const std::uint64_t middle = (offset + from.size() / 2) / kSector * kSector;
      if (ticking().torn() && middle > offset)
        static_cast<void>(
            file_->write_at(offset, from.first(static_cast<std::size_t>(middle - offset))));
      ::_exit(kExit);
    }
    return file_->write_at(offset, from);
  }
  Result<std::uint64_t> size() override { return file_->size(); }
  Status truncate(std::uint64_t bytes) override {
    if (ticking().tick()) ::_exit(kExit);
    return file_->truncate(bytes);
  }
  Status sync() override {
    if (ticking().tick()) ::_exit(kExit);
    return file_->sync();
  }
  Status close() override { return file_->close(); }
  [[nodiscard]] const std::string& path() const override { return file_->path(); }
  [[nodiscard]] int descriptor() const override { return file_->descriptor(); }

 private:
  std::unique_ptr<File> file_;
};

Result<std::unique_ptr<File>> open_dying(const std::string& path, OpenMode mode) {
  const bool creates = makes_a_file(mode);
  if (creates && ticking().tick()) ::_exit(kExit);
  auto file = bento::open_posix_file(path, mode);
  if (!file) return file;
  return std::unique_ptr<File>(std::make_unique<DyingFile>(std::move(*file)));
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) H5PL_type_t H5PLget_plugin_type(void) {
  return H5PL_TYPE_VOL;
}

__attribute__((visibility("default"))) const void* H5PLget_plugin_info(void) {
  bento::vol::set_file_opener(open_dying);
  return &bento::vol::connector_class();
}
}
