// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "bench/scale/sparse_disk.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fcntl.h>

#include "core/io/private_descriptor.hpp"

namespace bento::scale {

namespace {

bool all_zero(std::span<const std::byte> bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; });
}

class SparseFile final : public File {
 public:
  SparseFile(std::string path, SparseDisk::Content& content, SparseDisk::Counts& counts,
             std::unique_ptr<PrivateDescriptor> lock)
      : path_(std::move(path)), content_(content), counts_(counts), lock_(std::move(lock)) {}

  Result<std::size_t> read_some(std::uint64_t offset, std::span<std::byte> into) override {
    ++counts_.reads;
    if (offset >= content_.bytes) return std::size_t{0};
    const auto count =
        static_cast<std::size_t>(std::min<std::uint64_t>(into.size(), content_.bytes - offset));
    counts_.bytes_read += count;
    for_each_block(offset, count,
                   [&](std::uint64_t block, std::size_t at, std::size_t from, std::size_t bytes) {
                     const auto found = content_.blocks.find(block);
                     if (found == content_.blocks.end())
                       std::memset(into.data() + at, 0, bytes);
                     else
                       std::memcpy(into.data() + at, found->second->data() + from, bytes);
                   });
    return count;
  }

  Status write_at(std::uint64_t offset, std::span<const std::byte> from) override {
    ++counts_.writes;
    counts_.bytes_written += from.size();
    content_.bytes = std::max(content_.bytes, offset + from.size());
    for_each_block(offset, from.size(),
                   [&](std::uint64_t block, std::size_t at, std::size_t to, std::size_t bytes) {
                     const auto piece = from.subspan(at, bytes);
                     auto found = content_.blocks.find(block);
                     if (found == content_.blocks.end()) {
                       if (all_zero(piece)) return;
                       found =
                           content_.blocks
                               .emplace(block, new std::array<std::byte, SparseDisk::kBlockBytes>{})
                               .first;
                     }
                     std::memcpy(found->second->data() + to, piece.data(), bytes);
                   });
    return {};
  }

  Result<std::uint64_t> size() override { return content_.bytes; }
  Status truncate(std::uint64_t bytes) override {
    std::erase_if(content_.blocks, [&](const auto& one) {
      return one.first >= (bytes + SparseDisk::kBlockBytes - 1) / SparseDisk::kBlockBytes;
    });
    const auto last = content_.blocks.find(bytes / SparseDisk::kBlockBytes);
    if (last != content_.blocks.end())
      std::fill(
          last->second->begin() + static_cast<std::ptrdiff_t>(bytes % SparseDisk::kBlockBytes),
          last->second->end(), std::byte{0});
    content_.bytes = bytes;
    return {};
  }
  Status sync() override { return {}; }
  Status close() override { return {}; }
  [[nodiscard]] const std::string& path() const override { return path_; }
  [[nodiscard]] int descriptor() const override { return lock_ ? lock_->get() : -1; }

 private:
  template <class Visit>
  static void for_each_block(std::uint64_t offset, std::size_t count, const Visit& visit) {
    for (std::size_t done = 0; done < count;) {
      const std::uint64_t block = (offset + done) / SparseDisk::kBlockBytes;
      const auto in_block = static_cast<std::size_t>((offset + done) % SparseDisk::kBlockBytes);
      const std::size_t bytes =
          std::min(count - done, static_cast<std::size_t>(SparseDisk::kBlockBytes) - in_block);
      visit(block, done, in_block, bytes);
      done += bytes;
    }
  }

  std::string path_;
  SparseDisk::Content& content_;
  SparseDisk::Counts& counts_;
  std::unique_ptr<PrivateDescriptor> lock_;
};

}  // namespace

Result<std::unique_ptr<File>> SparseDisk::open(const std::string& path, OpenMode mode,
                                               Counts& counts, bool lockable) {
  ++counts.opens;
  const auto found = files_.find(path);
  const bool creates = makes_a_file(mode);
  if (found == files_.end() && !creates) return fail(os_error(ENOENT, "open of", path));
  if (found != files_.end() && makes_a_new_file(mode))
    return fail(os_error(EEXIST, "open for writing of", path));
  Content& content = files_[path];
  if (mode == OpenMode::kCreate) content = {};
  std::unique_ptr<PrivateDescriptor> lock;
  if (lockable)
    lock = std::make_unique<PrivateDescriptor>(
        [&] { return ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666); });
  return std::unique_ptr<File>(
      std::make_unique<SparseFile>(path, content, counts, std::move(lock)));
}

FileOpener SparseDisk::opener(Counts& counts, bool lockable) {
  return [this, &counts, lockable](const std::string& path, OpenMode mode) {
    return open(path, mode, counts, lockable);
  };
}

std::uint64_t SparseDisk::blocks() const {
  std::uint64_t blocks = 0;
  for (const auto& [path, content] : files_) blocks += content.blocks.size();
  return blocks;
}

}  // namespace bento::scale
