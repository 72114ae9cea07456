// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "transfer/arrival.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/layout/identity.hpp"
#include "core/layout/plan.hpp"
#include "core/offline/verify_streams.hpp"

namespace bento::transfer {
namespace {

/// A file that waits at a gate before it reads.
class GatedFile final : public File {
 public:
  GatedFile(std::unique_ptr<File> file, Gate& gate, bool& stopped)
      : file_(std::move(file)), gate_(gate), stopped_(stopped) {}

  Result<std::size_t> read_some(std::uint64_t offset, std::span<std::byte> into) override {
    if (!stopped_) {
      BENTO_ASSIGN(const bool go_on, gate_.pass());
      stopped_ = !go_on;
    }
    if (stopped_) return fail(Code::kBusy, "told to stop");
    return file_->read_some(offset, into);
  }
  Status write_at(std::uint64_t offset, std::span<const std::byte> from) override {
    return file_->write_at(offset, from);
  }
  Result<std::uint64_t> size() override { return file_->size(); }
  Status truncate(std::uint64_t bytes) override { return file_->truncate(bytes); }
  Status sync() override { return file_->sync(); }
  Status close() override { return file_->close(); }
  [[nodiscard]] const std::string& path() const override { return file_->path(); }
  [[nodiscard]] int descriptor() const override { return file_->descriptor(); }

 private:
  std::unique_ptr<File> file_;
  Gate& gate_;
  bool& stopped_;
};

}  // namespace

Status verify_container(const std::string& path, Gate& gate, bool& stopped) {
  const FileOpener opener = [&](const std::string& name,
                                OpenMode mode) -> Result<std::unique_ptr<File>> {
    BENTO_ASSIGN(auto file, open_posix_file(name, mode));
    return std::unique_ptr<File>(std::make_unique<GatedFile>(std::move(file), gate, stopped));
  };
  BENTO_ASSIGN(const StreamsVerdict verdict, verify_streams(path, opener));
  if (verdict.sound()) return {};
  if (verdict.findings.empty())
    return fail(Code::kCorrupt, fmt::format("'{}': {} damaged places", path, verdict.count));
  const StreamFinding& first = verdict.findings.front();
  return fail(Code::kCorrupt,
              fmt::format("'{}': {} damaged places, the first in the stream of writer {}, '{}' at "
                          "byte {}: {}",
                          path, verdict.count, first.writer, first.file, first.address,
                          first.finding.text));
}

}  // namespace bento::transfer
