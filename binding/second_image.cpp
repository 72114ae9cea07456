// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "binding/second_image.hpp"

#include <cerrno>
#include <cstring>

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

namespace bento::binding {

namespace {

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int get() const { return number_; }
  void keep() { number_ = -1; }

 private:
  int number_;
};

bool copy_bytes(int from, int to) {
  struct stat about{};
  if (::fstat(from, &about) != 0) return false;
  off_t at = 0;
  while (at < about.st_size)
    if (::sendfile(to, from, &at, static_cast<std::size_t>(about.st_size - at)) <= 0) return false;
  return true;
}

}  // namespace

void* load_second_image(std::string& why) {
  Dl_info info{};
  if (::dladdr(reinterpret_cast<const void*>(&load_second_image), &info) == 0 ||
      info.dli_fname == nullptr) {
    why = "the plugin's file is not known";
    return nullptr;
  }
  const Descriptor from(::open(info.dli_fname, O_RDONLY | O_CLOEXEC));
  Descriptor to(::memfd_create("h5bento", MFD_CLOEXEC));
  if (from.get() < 0 || to.get() < 0 || !copy_bytes(from.get(), to.get())) {
    why = fmt::format("'{}' cannot be copied to memory: {}", info.dli_fname, std::strerror(errno));
    return nullptr;
  }
  void* const image =
      ::dlopen(fmt::format("/proc/{}/fd/{}", ::getpid(), to.get()).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (image != nullptr)
    to.keep();  // the loader knows images by name, and would give this one for the next of this
                // number
  else
    why = fmt::format("a second image of '{}' cannot be loaded: {}", info.dli_fname, ::dlerror());
  return image;
}

}  // namespace bento::binding
