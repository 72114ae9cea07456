// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Many threads of control in one thread: a fiber runs until it waits. All of them run on one
/// stack; what a waiting fiber has on it is copied away, so that a million of them take little
/// memory. A fiber must therefore not touch another one's local variables.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include <ucontext.h>

namespace bento::scale {

class Fibers {
 public:
  Fibers();
  ~Fibers();
  Fibers(const Fibers&) = delete;
  Fibers& operator=(const Fibers&) = delete;

  /// Runs body(0) to body(count - 1), beginning with the highest, until all have returned. Returns
  /// false if some wait and nobody is left to wake them.
  bool run(std::size_t count, const std::function<void(std::size_t)>& body);

  /// The fiber that runs. Only inside run().
  [[nodiscard]] std::size_t current() const { return current_; }
  /// Gives way until somebody wakes this fiber. Only inside run().
  void wait();
  /// The fiber goes on when its turn comes; nothing if it does not wait.
  void wake(std::size_t fiber);

  /// The most stack that a waiting fiber had.
  [[nodiscard]] std::size_t largest_stack() const { return largest_; }
  /// Called around each stretch in which fiber 0 runs: `begins`, then not.
  std::function<void(bool begins)> watch_first;

 private:
  struct Fiber {
    std::unique_ptr<ucontext_t> context;
    std::unique_ptr<std::byte[]> stack;  ///< what it has on the stack, while it waits
    std::size_t used = 0;
    std::size_t room = 0;
    bool begun = false;
    bool waits = false;
    bool done = false;
  };
  static void enter();
  void resume(std::size_t fiber);

  std::byte* memory_ = nullptr;  ///< a page that nobody may touch, then the stack
  std::vector<Fiber> fibers_;
  std::deque<std::size_t> ready_;
  std::function<void(std::size_t)> body_;
  ucontext_t scheduler_{};
  std::size_t current_ = 0;
  std::size_t largest_ = 0;
};

}  // namespace bento::scale
