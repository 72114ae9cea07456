// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "bench/scale/fibers.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace bento::scale {

namespace {

constexpr std::size_t kGuardBytes = 4096;
constexpr std::size_t kStackBytes = 8u << 20;
// Below the frame of wait(): what the switch itself puts there, and the red zone.
constexpr std::size_t kBelowFrame = 1024;
// What a waiting fiber is given at first. It keeps it until it ends: pieces of other sizes that
// come and go would leave gaps in memory, half as much again.
constexpr std::size_t kRoom = 6144;

Fibers* running = nullptr;  // makecontext() passes on nothing but ints

}  // namespace

Fibers::Fibers() {
  void* const got = ::mmap(nullptr, kGuardBytes + kStackBytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (got == MAP_FAILED) std::abort();
  memory_ = static_cast<std::byte*>(got);
  if (::mprotect(memory_, kGuardBytes, PROT_NONE) != 0) std::abort();
}

Fibers::~Fibers() {
  ::munmap(memory_, kGuardBytes + kStackBytes);
}

void Fibers::enter() {
  Fibers& all = *running;
  all.body_(all.current_);
  all.fibers_[all.current_].done = true;
}

void Fibers::resume(std::size_t number) {
  Fiber& fiber = fibers_[number];
  current_ = number;
  std::byte* const top = memory_ + kGuardBytes + kStackBytes;
  if (!fiber.begun) {
    fiber.begun = true;
    fiber.context = std::make_unique<ucontext_t>();
    ::getcontext(fiber.context.get());
    fiber.context->uc_stack.ss_sp = memory_ + kGuardBytes;
    fiber.context->uc_stack.ss_size = kStackBytes;
    fiber.context->uc_link = &scheduler_;
    ::makecontext(fiber.context.get(), &Fibers::enter, 0);
  } else {
    std::memcpy(top - fiber.used, fiber.stack.get(), fiber.used);
  }
  ::swapcontext(&scheduler_, fiber.context.get());
  if (!fiber.done) return;
  fiber.context.reset();
  fiber.stack.reset();
}

// run() copies the stack from this frame on, when the fiber does not run any more. Nothing that
// belongs to the fiber lies below the frame but what the switch puts there.
__attribute__((noinline)) void Fibers::wait() {
  Fiber& fiber = fibers_[current_];
  fiber.waits = true;
  ucontext_t* const mine = fiber.context.get();
  std::byte* const top = memory_ + kGuardBytes + kStackBytes;
  auto* const frame = static_cast<std::byte*>(__builtin_frame_address(0));
  fiber.used = static_cast<std::size_t>(top - frame) + kBelowFrame;
  largest_ = std::max(largest_, fiber.used);
  if (fiber.used > fiber.room) {
    fiber.room = std::max(fiber.used, kRoom);
    fiber.stack = std::make_unique_for_overwrite<std::byte[]>(fiber.room);
  }
  ::swapcontext(mine, &scheduler_);
}

void Fibers::wake(std::size_t fiber) {
  if (!fibers_[fiber].waits) return;
  fibers_[fiber].waits = false;
  ready_.push_back(fiber);
}

bool Fibers::run(std::size_t count, const std::function<void(std::size_t)>& body) {
  running = this;
  body_ = body;
  fibers_.clear();
  fibers_.resize(count);
  std::byte* const top = memory_ + kGuardBytes + kStackBytes;
  std::size_t left = count;
  const auto step = [&](std::size_t number) {
    const bool watched = number == 0 && watch_first;
    if (watched) watch_first(true);
    resume(number);
    if (watched) watch_first(false);
    Fiber& fiber = fibers_[number];
    if (fiber.done) {
      --left;
    } else {
      std::memcpy(fiber.stack.get(), top - fiber.used, fiber.used);
    }
  };
  const auto drain = [&] {
    while (!ready_.empty()) {
      const std::size_t next = ready_.front();
      ready_.pop_front();
      step(next);
    }
  };
  for (std::size_t number = count; number-- > 0;) {
    step(number);
    drain();
  }
  drain();
  running = nullptr;
  return left == 0;
}

}  // namespace bento::scale
