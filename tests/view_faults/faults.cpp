// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "tests/view_faults/faults.hpp"

#include <cstdlib>
#include <new>
#include <type_traits>

#include <hdf5.h>

namespace bento::vol::test {

namespace {

struct State {
  bool armed = false;
  Fault kind = Fault::kCall;
  std::uint64_t left = 0;
  bool forever = false;
  bool fired = false;
  const char* name = "";
};
State state;

bool fails(Fault kind, const char* name) {
  if (!state.armed || state.kind != kind) return false;
  if (state.left > 1) {
    --state.left;
    return false;
  }
  if (state.fired && !state.forever) return false;
  state.fired = true;
  state.name = name;
  return true;
}

template <class T>
T failure() {
  if constexpr (std::is_pointer_v<T>)
    return nullptr;
  else if constexpr (std::is_unsigned_v<T>)
    return 0;
  else
    return static_cast<T>(-1);
}

void* allocate(std::size_t bytes) {
  void* const memory = fails(Fault::kMemory, "") ? nullptr : std::malloc(bytes == 0 ? 1 : bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

Failing::Failing(Fault kind, std::uint64_t nth, bool forever) {
  state = {true, kind, nth, forever, false, ""};
}
Failing::~Failing() {
  state.armed = false;
}
bool Failing::fired() const {
  return state.fired;
}
std::string Failing::name() const {
  return state.name;
}

}  // namespace bento::vol::test

void* operator new(std::size_t bytes) {
  return bento::vol::test::allocate(bytes);
}
void* operator new[](std::size_t bytes) {
  return bento::vol::test::allocate(bytes);
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  try {
    return bento::vol::test::allocate(bytes);
  } catch (...) {
    return nullptr;
  }
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete[](void* memory) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, const std::nothrow_t&) noexcept {
  std::free(memory);
}

// NOLINTBEGIN: names and signatures are the linker's and the library's
#define CALL(result, call, parameters, arguments)                       \
  extern "C" result __real_##call parameters;                           \
  extern "C" result __wrap_##call parameters;                           \
  extern "C" result __wrap_##call parameters {                          \
    if (bento::vol::test::fails(bento::vol::test::Fault::kCall, #call)) \
      return bento::vol::test::failure<result>();                       \
    return __real_##call arguments;                                     \
  }
#include "tests/view_faults/hdf5_calls.inc"
#undef CALL
// NOLINTEND
