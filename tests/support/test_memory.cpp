// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "tests/support/test_memory.hpp"

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

#include <malloc.h>

namespace {

thread_local std::uint64_t left = 0;  // 0: none fails
thread_local bool has_failed = false;

std::atomic<std::uint64_t> held{0};
std::atomic<std::uint64_t> most{0};

void* counted(void* memory) {
  if (memory == nullptr) throw std::bad_alloc();
  const std::uint64_t now = held += malloc_usable_size(memory);
  std::uint64_t before = most;
  while (before < now && !most.compare_exchange_weak(before, now)) {
  }
  return memory;
}

void release(void* memory) noexcept {
  if (memory == nullptr) return;
  held -= malloc_usable_size(memory);
  std::free(memory);
}

void* allocate(std::size_t bytes) {
  if (left != 0 && --left == 0) {
    has_failed = true;
    throw std::bad_alloc();
  }
  return counted(std::malloc(bytes == 0 ? 1 : bytes));
}

void* allocate_aligned(std::size_t bytes, std::align_val_t alignment) {
  const auto align = static_cast<std::size_t>(alignment);
  return counted(std::aligned_alloc(align, (bytes + align - 1) / align * align));
}

}  // namespace

void* operator new(std::size_t bytes) {
  return allocate(bytes);
}
void* operator new[](std::size_t bytes) {
  return allocate(bytes);
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return allocate_aligned(bytes, alignment);
}
void* operator new[](std::size_t bytes, std::align_val_t alignment) {
  return allocate_aligned(bytes, alignment);
}
// The library asks this way for buffers that it can do without (std::stable_sort).
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  try {
    return allocate(bytes);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
void* operator new[](std::size_t bytes, const std::nothrow_t& nothrow) noexcept {
  return operator new(bytes, nothrow);
}
void operator delete(void* memory, const std::nothrow_t&) noexcept {
  release(memory);
}
void operator delete[](void* memory, const std::nothrow_t&) noexcept {
  release(memory);
}
void operator delete(void* memory) noexcept {
  release(memory);
}
void operator delete[](void* memory) noexcept {
  release(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  release(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
  release(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  release(memory);
}
void operator delete[](void* memory, std::align_val_t) noexcept {
  release(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  release(memory);
}
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept {
  release(memory);
}

namespace bento::test {

FailingMemory::FailingMemory(std::uint64_t nth) {
  has_failed = false;
  left = nth;
}

FailingMemory::~FailingMemory() {
  left = 0;
}

bool FailingMemory::failed() {
  return has_failed;
}

MemoryWatch::MemoryWatch() : before_(held) {
  most = before_;
}

std::uint64_t MemoryWatch::peak() const {
  return most - before_;
}

}  // namespace bento::test
