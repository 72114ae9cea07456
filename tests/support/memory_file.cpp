// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "tests/support/memory_file.hpp"

#include <algorithm>
#include <cerrno>
#include <mutex>
#include <utility>

#include <fmt/format.h>

namespace bento {

struct MemoryFileSystem::Disk {
  using Content = std::shared_ptr<std::vector<std::byte>>;
  std::mutex mutex;
  std::map<std::string, Content> files;
};

namespace {

/// Above this a test has computed a wrong offset; memory would be exhausted long before it noticed.
constexpr std::uint64_t kMaxBytes = 1ull << 32;

class MemoryFile final : public File {
 public:
  MemoryFile(std::string path, std::shared_ptr<MemoryFileSystem::Disk> disk,
             MemoryFileSystem::Disk::Content content, bool writable)
      : path_(std::move(path)),
        disk_(std::move(disk)),
        content_(std::move(content)),
        writable_(writable) {}

  Result<std::size_t> read_some(std::uint64_t offset, std::span<std::byte> into) override {
    const std::scoped_lock lock(disk_->mutex);
    if (offset >= content_->size()) return std::size_t{0};
    const std::size_t count =
        std::min(into.size(), content_->size() - static_cast<std::size_t>(offset));
    std::copy_n(content_->begin() + static_cast<std::ptrdiff_t>(offset), count, into.begin());
    return count;
  }

  Status write_at(std::uint64_t offset, std::span<const std::byte> from) override {
    const std::scoped_lock lock(disk_->mutex);
    BENTO_TRY(check_writable("write to"));
    if (offset > kMaxBytes || from.size() > kMaxBytes - offset)
      return fail(os_error(
          EFBIG, fmt::format("write of {} bytes at offset {} to", from.size(), offset), path_));
    if (from.empty()) return {};
    const auto end = static_cast<std::size_t>(offset) + from.size();
    if (content_->size() < end) content_->resize(end);
    std::copy(from.begin(), from.end(), content_->begin() + static_cast<std::ptrdiff_t>(offset));
    return {};
  }

  Result<std::uint64_t> size() override {
    const std::scoped_lock lock(disk_->mutex);
    return content_->size();
  }

  Status truncate(std::uint64_t bytes) override {
    const std::scoped_lock lock(disk_->mutex);
    BENTO_TRY(check_writable("truncate of"));
    if (bytes > kMaxBytes)
      return fail(os_error(EFBIG, fmt::format("truncate to {} bytes of", bytes), path_));
    content_->resize(static_cast<std::size_t>(bytes));
    return {};
  }

  Status sync() override { return {}; }
  Status close() override { return {}; }
  [[nodiscard]] const std::string& path() const override { return path_; }

 private:
  Status check_writable(std::string_view operation) const {
    if (!writable_) return fail(os_error(EBADF, operation, path_));
    return {};
  }

  std::string path_;
  std::shared_ptr<MemoryFileSystem::Disk> disk_;
  MemoryFileSystem::Disk::Content content_;
  bool writable_;
};

}  // namespace

MemoryFileSystem::MemoryFileSystem() : disk_(std::make_shared<Disk>()) {}

Result<std::unique_ptr<File>> MemoryFileSystem::open(const std::string& path, OpenMode mode) const {
  const std::scoped_lock lock(disk_->mutex);
  if (mode == OpenMode::kDirectory)  // every folder there may be; nothing in it is ever lost
    return std::unique_ptr<File>(std::make_unique<MemoryFile>(
        path, disk_, std::make_shared<std::vector<std::byte>>(), false));
  const auto found = disk_->files.find(path);
  const bool there = found != disk_->files.end();
  const bool creates = makes_a_file(mode);
  if (!there && !creates) return fail(os_error(ENOENT, "open of", path));
  if (there && makes_a_new_file(mode)) return fail(os_error(EEXIST, "open for writing of", path));
  auto content = there ? found->second : std::make_shared<std::vector<std::byte>>();
  if (!there) disk_->files[path] = content;
  if (mode == OpenMode::kCreate) content->clear();
  return std::unique_ptr<File>(
      std::make_unique<MemoryFile>(path, disk_, std::move(content), mode != OpenMode::kRead));
}

FileOpener MemoryFileSystem::opener() const {
  return [self = *this](const std::string& path, OpenMode mode) { return self.open(path, mode); };
}

bool MemoryFileSystem::exists(const std::string& path) const {
  const std::scoped_lock lock(disk_->mutex);
  return disk_->files.contains(path);
}

std::vector<std::byte> MemoryFileSystem::content(const std::string& path) const {
  const std::scoped_lock lock(disk_->mutex);
  const auto found = disk_->files.find(path);
  return found == disk_->files.end() ? std::vector<std::byte>{} : *found->second;
}

void MemoryFileSystem::put(const std::string& path, std::vector<std::byte> content) const {
  const std::scoped_lock lock(disk_->mutex);
  auto& place = disk_->files[path];
  if (place)
    *place = std::move(content);
  else
    place = std::make_shared<std::vector<std::byte>>(std::move(content));
}

void MemoryFileSystem::remove(const std::string& path) const {
  const std::scoped_lock lock(disk_->mutex);
  disk_->files.erase(path);
}

std::vector<std::string> MemoryFileSystem::names() const {
  const std::scoped_lock lock(disk_->mutex);
  std::vector<std::string> result;
  for (const auto& [name, content] : disk_->files) result.push_back(name);
  return result;
}

}  // namespace bento
