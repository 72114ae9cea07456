// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "tests/support/span_file.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

namespace bento::test {
namespace {

class SpanFile final : public File {
 public:
  SpanFile(SpanFiles& owner, std::string path, std::span<const std::byte> bytes)
      : owner_(owner), path_(std::move(path)), bytes_(bytes) {}

  Status read_at(std::uint64_t offset, std::span<std::byte> into) override {
    BENTO_ASSIGN(const std::size_t got, read_some(offset, into));
    if (got == into.size()) return {};
    owner_.count_overread();
    return fail(Code::kCorrupt, "read behind the end of '" + path_ + "'");
  }
  Result<std::size_t> read_some(std::uint64_t offset, std::span<std::byte> into) override {
    if (offset >= bytes_.size()) return std::size_t{0};
    const auto part = bytes_.subspan(static_cast<std::size_t>(offset));
    const std::size_t count = std::min(part.size(), into.size());
    std::copy_n(part.begin(), count, into.begin());
    return count;
  }
  Status write_at(std::uint64_t, std::span<const std::byte>) override { return read_only(); }
  Result<std::uint64_t> size() override { return bytes_.size(); }
  Status truncate(std::uint64_t) override { return read_only(); }
  Status sync() override { return {}; }
  Status close() override { return {}; }
  [[nodiscard]] const std::string& path() const override { return path_; }

 private:
  Status read_only() const { return fail(os_error(EBADF, "write to", path_)); }

  SpanFiles& owner_;
  std::string path_;
  std::span<const std::byte> bytes_;
};

}  // namespace

FileOpener SpanFiles::opener() {
  return [this](const std::string& path, OpenMode mode) -> Result<std::unique_ptr<File>> {
    const auto found = files_.find(path);
    if (found == files_.end()) return fail(os_error(ENOENT, "open of", path));
    if (mode != OpenMode::kRead) return fail(os_error(EACCES, "open for writing of", path));
    return std::unique_ptr<File>(std::make_unique<SpanFile>(*this, path, found->second));
  };
}

}  // namespace bento::test
