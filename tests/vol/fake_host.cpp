// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "tests/vol/fake_host.hpp"

#include <cstdlib>
#include <stdexcept>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace bento::vol::test {

FakeHost::FakeHost(std::string name, bool writable, int open_flags)
    : name_(std::move(name)),
      writable_(writable),
      descriptor_(::open(name_.c_str(), open_flags | O_CLOEXEC, 0644)) {
  if (descriptor_ < 0) throw std::runtime_error("fake host: cannot open " + name_);
}

FakeHost::~FakeHost() {
  ::close(descriptor_);
}

std::shared_ptr<FakeHost> FakeHost::create(const std::string& name) {
  std::shared_ptr<FakeHost> host(new FakeHost(name, true, O_RDWR | O_CREAT | O_TRUNC));
  if (::pwrite(host->descriptor_, "sion", 4, 0) != 4 ||
      ::ftruncate(host->descriptor_, kImageOffset) != 0)
    throw std::runtime_error("fake host: cannot write " + name);
  return host;
}

std::shared_ptr<FakeHost> FakeHost::open(const std::string& name, bool writable) {
  std::shared_ptr<FakeHost> host(new FakeHost(name, writable, writable ? O_RDWR : O_RDONLY));
  const auto stored = std::filesystem::file_size(name) - kImageOffset;
  std::vector<std::byte> bytes(stored);
  if (::pread(host->descriptor_, bytes.data(), stored, kImageOffset) !=
      static_cast<ssize_t>(stored))
    throw std::runtime_error("fake host: cannot read " + name);
  host->image_ = PagedImage(std::move(bytes));
  return host;
}

FileIdentity FakeHost::identity() const {
  struct stat status{};
  ::fstat(descriptor_, &status);
  return {status.st_dev, status.st_ino};
}

Status FakeHost::finalise() {
  ++finalised;
  BENTO_TRY(failure);
  if (!writable_) return {};
  const auto bytes = image_.bytes();
  if (::pwrite(descriptor_, bytes.data(), bytes.size(), kImageOffset) !=
          static_cast<ssize_t>(bytes.size()) ||
      ::ftruncate(descriptor_, static_cast<off_t>(kImageOffset + bytes.size())) != 0)
    return fail(Code::kIo, "fake host: the image cannot be stored");
  return {};
}

WorkFolder::WorkFolder() : before_(std::filesystem::current_path()) {
  std::string pattern = (std::filesystem::temp_directory_path() / "h5bento-test-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary folder");
  folder_ = pattern;
  std::filesystem::current_path(folder_);
}

WorkFolder::~WorkFolder() {
  std::error_code ignored;
  std::filesystem::current_path(before_, ignored);
  std::filesystem::remove_all(folder_, ignored);
}

}  // namespace bento::vol::test
