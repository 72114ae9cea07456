// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "tests/fuzz/vol/memory_watch.hpp"

#include <atomic>
#include <cstdlib>
#include <new>

#include <malloc.h>

namespace bento::fuzz {

namespace {
std::atomic<std::uint64_t> held{0};
std::atomic<std::uint64_t> most{0};
}  // namespace

MemoryWatch::MemoryWatch() : before_(held) {
  most = before_;
}

std::uint64_t MemoryWatch::peak() const {
  return most - before_;
}

#ifndef H5BENTO_NO_MEMORY_WATCH
namespace {

void* take(std::size_t bytes) {
  void* const at = std::malloc(bytes != 0 ? bytes : 1);
  if (at == nullptr) throw std::bad_alloc();
  const std::uint64_t now = held += malloc_usable_size(at);
  std::uint64_t before = most;
  while (before < now && !most.compare_exchange_weak(before, now)) {
  }
  return at;
}

void give(void* at) noexcept {
  if (at == nullptr) return;
  held -= malloc_usable_size(at);
  std::free(at);
}

}  // namespace
#endif

}  // namespace bento::fuzz

#ifndef H5BENTO_NO_MEMORY_WATCH
void* operator new(std::size_t bytes) {
  return bento::fuzz::take(bytes);
}
void* operator new[](std::size_t bytes) {
  return bento::fuzz::take(bytes);
}
void operator delete(void* at) noexcept {
  bento::fuzz::give(at);
}
void operator delete[](void* at) noexcept {
  bento::fuzz::give(at);
}
void operator delete(void* at, std::size_t) noexcept {
  bento::fuzz::give(at);
}
void operator delete[](void* at, std::size_t) noexcept {
  bento::fuzz::give(at);
}
#endif
