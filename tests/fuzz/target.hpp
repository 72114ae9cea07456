// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// What a fuzz target is: one function of bytes that may do anything but break a promise of the
/// code it calls. Built with libFuzzer it is a program; linked into core_tests the corpus runs
/// through it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <stdexcept>
#include <string>

namespace bento::fuzz {

using Input = std::span<const std::byte>;

/// A promise: libFuzzer sees a crash if it is broken, a test an exception.
inline void require(bool holds, const char* promise) {
  if (holds) return;
#ifdef H5BENTO_FUZZ_MAIN
  (void)promise;
  std::abort();
#else
  throw std::logic_error(std::string("broken promise: ") + promise);
#endif
}

// The targets, one per fuzz_*.cpp.
void fti_ff(Input input);
void fills(Input input);
void index_segments(Input input);
void kvtree(Input input);
void message(Input input);
void root(Input input);
void segment(Input input);
void sion(Input input);

/// The input's first bytes choose how the rest is taken; 0 when there are none left.
class Dice {
 public:
  explicit Dice(Input input) : rest_(input) {}
  std::uint64_t number(std::size_t bytes) {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < bytes && !rest_.empty(); ++i) {
      value |= std::to_integer<std::uint64_t>(rest_.front()) << (8 * i);
      rest_ = rest_.subspan(1);
    }
    return value;
  }
  Input take(std::size_t bytes) {
    const Input part = rest_.first(bytes < rest_.size() ? bytes : rest_.size());
    rest_ = rest_.subspan(part.size());
    return part;
  }
  [[nodiscard]] Input rest() const { return rest_; }

 private:
  Input rest_;
};

}  // namespace bento::fuzz

#ifdef H5BENTO_FUZZ_MAIN
#define BENTO_FUZZ_MAIN(target)                                                       \
  extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) { \
    bento::fuzz::target(std::as_bytes(std::span(data, size)));                        \
    return 0;                                                                         \
  }
#else
#define BENTO_FUZZ_MAIN(target)
#endif
