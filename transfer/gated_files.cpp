// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "transfer/gated_files.hpp"

#include <algorithm>
#include <utility>

namespace bento::transfer {

namespace {
// Filters may take long for few bytes.
constexpr std::chrono::seconds kLongestBurst(5);
}  // namespace

class GatedFiles::GatedFile final : public File {
 public:
  GatedFile(std::unique_ptr<File> file, GatedFiles& files)
      : file_(std::move(file)), files_(files) {}

  Result<std::size_t> read_some(std::uint64_t offset, std::span<std::byte> into) override {
    BENTO_TRY(files_.pass());
    return files_.noted(file_->read_some(offset, into));
  }
  Status write_at(std::uint64_t offset, std::span<const std::byte> from) override {
    while (!from.empty()) {
      BENTO_ASSIGN(const std::uint64_t most, files_.pass());
      const auto piece =
          from.first(static_cast<std::size_t>(std::min<std::uint64_t>(from.size(), most)));
      BENTO_TRY(files_.noted(file_->write_at(offset, piece)));
      written_ = true;
      BENTO_TRY(files_.count(*file_, piece.size()));
      offset += piece.size();
      from = from.subspan(piece.size());
    }
    return {};
  }
  Result<std::uint64_t> size() override { return files_.noted(file_->size()); }
  Status truncate(std::uint64_t bytes) override { return files_.noted(file_->truncate(bytes)); }
  Status sync() override { return files_.noted(file_->sync()); }
  // What the device refuses late is told to who has the file open: nobody, after this.
  Status close() override {
    Status synced = written_ ? sync() : Status{};
    Status closed = files_.noted(file_->close());
    BENTO_TRY(std::move(synced));
    return closed;
  }
  [[nodiscard]] const std::string& path() const override { return file_->path(); }
  [[nodiscard]] int descriptor() const override { return file_->descriptor(); }

 private:
  std::unique_ptr<File> file_;
  GatedFiles& files_;
  bool written_ = false;
};

FileOpener GatedFiles::opener() {
  return [this](const std::string& path, OpenMode mode) -> Result<std::unique_ptr<File>> {
    auto file = open_posix_file(path, mode);
    // Who reads may look for what need not be there.
    if (!file && mode != OpenMode::kRead) (void)noted(Status(fail(file.error())));
    if (!file || mode == OpenMode::kDirectory) return file;
    return std::unique_ptr<File>(std::make_unique<GatedFile>(std::move(*file), *this));
  };
}

Result<std::uint64_t> GatedFiles::pass() {
  const std::scoped_lock lock(gate_mutex_);
  if (!stopped_) {
    BENTO_ASSIGN(const bool go_on, noted(gate_.pass()));
    stopped_ = !go_on;
  }
  if (stopped_) return fail(Code::kPeer, "told to stop");
  return std::max<std::uint64_t>(std::min(gate_.piece(), gate_.burst()), 1);
}

// Others may pass while it becomes durable.
Status GatedFiles::count(File& file, std::uint64_t bytes) {
  {
    const std::scoped_lock lock(gate_mutex_);
    gate_.copied(bytes);
    since_ += bytes;
    const auto now = std::chrono::steady_clock::now();
    if (since_ < gate_.burst() && now - durable_at_ < kLongestBurst) return {};
    since_ = 0;
    durable_at_ = now;
  }
  BENTO_TRY(noted(file.sync()));
  if (!durable_) return {};
  const std::scoped_lock lock(gate_mutex_);
  BENTO_ASSIGN(const bool go_on, noted(durable_()));
  if (!go_on) stopped_ = true;
  return stopped_ ? Status(fail(Code::kPeer, "told to stop")) : Status{};
}

}  // namespace bento::transfer
