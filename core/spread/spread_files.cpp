// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/spread/spread_files.hpp"

#include <utility>

#include "core/bytes/byte_reader.hpp"

namespace bento {

namespace {

enum class Change : std::uint8_t { kWrite = 0, kTruncate = 1 };

std::string last_part(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

/// Opens what may be there or not, without emptying it.
Result<std::unique_ptr<File>> open_or_make(const FileOpener& under, const std::string& path) {
  constexpr int kTries = 100;  // others of this node do the same at the same time
  for (int tries = 0;; ++tries) {
    auto file = under(path, OpenMode::kReadWrite);
    if (file || file.error().code != Code::kNotFound) return file;
    file = under(path, OpenMode::kCreateExclusive);
    if (file || file.error().code != Code::kExists || tries == kTries) return file;
  }
}

}  // namespace

std::string common_name(const std::string& physical) {
  return physical + ".common";
}

/// A file of rank 0's, of which every change is noted for the other nodes.
class SpreadFiles::Recorded final : public File {
 public:
  Recorded(SpreadFiles& files, std::string name, std::unique_ptr<File> under)
      : files_(files), name_(std::move(name)), under_(std::move(under)) {}

  Status read_at(std::uint64_t offset, std::span<std::byte> into) override {
    return under_->read_at(offset, into);
  }
  Result<std::size_t> read_some(std::uint64_t offset, std::span<std::byte> into) override {
    return under_->read_some(offset, into);
  }
  Status write_at(std::uint64_t offset, std::span<const std::byte> from) override {
    BENTO_TRY(under_->write_at(offset, from));
    files_.note_write(name_, offset, from);
    return {};
  }
  Result<std::uint64_t> size() override { return under_->size(); }
  Status truncate(std::uint64_t bytes) override {
    BENTO_TRY(under_->truncate(bytes));
    files_.note_truncate(name_, bytes);
    return {};
  }
  Status sync() override { return under_->sync(); }
  Status close() override { return under_->close(); }
  [[nodiscard]] const std::string& path() const override { return under_->path(); }
  [[nodiscard]] int descriptor() const override { return under_->descriptor(); }

 private:
  SpreadFiles& files_;
  std::string name_;
  std::unique_ptr<File> under_;
};

SpreadFiles::SpreadFiles(SpreadPlace place, FileOpener under)
    : place_(std::move(place)), under_(std::move(under)) {}

// Names come from rank 0, whose node has the files in another folder.
std::string SpreadFiles::here(const std::string& path) const {
  return place_.folder + "/" + last_part(path);
}

FileOpener SpreadFiles::common_opener() {
  if (place_.owner)
    return [this](const std::string& path, OpenMode mode) -> Result<std::unique_ptr<File>> {
      BENTO_ASSIGN(auto file, under_(path, mode));
      if (mode == OpenMode::kRead || mode == OpenMode::kDirectory) return file;
      return std::unique_ptr<File>(
          std::make_unique<Recorded>(*this, last_part(path), std::move(file)));
    };
  return [this](const std::string& path, OpenMode mode) {
    if (mode == OpenMode::kDirectory) return under_(place_.folder, mode);
    return under_(place_.node == 0 ? here(path) : common_name(here(path)), mode);
  };
}

FileOpener SpreadFiles::stream_opener() {
  return [this](const std::string& path, OpenMode) { return open_or_make(under_, here(path)); };
}

void SpreadFiles::note_write(const std::string& name, std::uint64_t offset,
                             std::span<const std::byte> bytes) {
  written_.u8(static_cast<std::uint8_t>(Change::kWrite));
  written_.varint(name.size());
  written_.bytes(std::as_bytes(std::span(name)));
  written_.u64(offset);
  written_.u64(bytes.size());
  written_.bytes(bytes);
}

void SpreadFiles::note_truncate(const std::string& name, std::uint64_t bytes) {
  written_.u8(static_cast<std::uint8_t>(Change::kTruncate));
  written_.varint(name.size());
  written_.bytes(std::as_bytes(std::span(name)));
  written_.u64(bytes);
}

Bytes SpreadFiles::take_written() {
  return std::move(std::exchange(written_, ByteWriter())).take();
}

Result<File*> SpreadFiles::common_file(const std::string& name) {
  auto& file = common_[name];
  if (!file) {
    BENTO_ASSIGN(file, open_or_make(under_, common_name(here(name))));
  }
  return file.get();
}

Status SpreadFiles::repeat(std::span<const std::byte> written) {
  if (!place_.leads || place_.node == 0) return {};
  ByteReader in(written, std::endian::little, "what rank 0 has written");
  std::map<File*, bool> changed;
  while (in.remaining() > 0) {
    BENTO_ASSIGN(const std::uint8_t change, in.u8());
    BENTO_ASSIGN(const std::uint64_t length, in.varint());
    BENTO_ASSIGN(const auto text, in.bytes(length));
    const std::string name(reinterpret_cast<const char*>(text.data()), text.size());
    BENTO_ASSIGN(File* const file, common_file(name));
    changed[file] = true;
    if (change == static_cast<std::uint8_t>(Change::kTruncate)) {
      BENTO_ASSIGN(const std::uint64_t bytes, in.u64());
      BENTO_TRY(file->truncate(bytes));
      continue;
    }
    BENTO_ASSIGN(const std::uint64_t offset, in.u64());
    BENTO_ASSIGN(const std::uint64_t bytes, in.u64());
    BENTO_ASSIGN(const auto content, in.bytes(bytes));
    BENTO_TRY(file->write_at(offset, content));
  }
  if (!place_.survives_power) return {};
  for (const auto& [file, always] : changed) BENTO_TRY(file->sync());
  return {};
}

}  // namespace bento
