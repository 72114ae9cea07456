// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// What belongs to one process and not to the children that it forks: descriptors whose locks must
/// not live on in a child, and files that only the process which opened them may change.
#pragma once

#include <functional>
#include <memory>

#include <sys/types.h>

namespace bento {

/// An open descriptor that a forked child closes before fork() returns there, so that a child which
/// outlives its parent keeps no lock of it. Thread-safe against fork(); else like any value. A
/// child made by clone() or _Fork() itself runs no such handler; one that calls exec() loses the
/// descriptor then, by O_CLOEXEC.
class PrivateDescriptor {
 public:
  PrivateDescriptor() = default;
  /// `open` returns a descriptor or -1, and leaves errno. No fork() of another thread comes between
  /// it and the moment when the descriptor is known here, so it must not wait.
  explicit PrivateDescriptor(const std::function<int()>& open);
  ~PrivateDescriptor();
  PrivateDescriptor(PrivateDescriptor&&) noexcept;
  PrivateDescriptor& operator=(PrivateDescriptor&&) noexcept;
  PrivateDescriptor(const PrivateDescriptor&) = delete;
  PrivateDescriptor& operator=(const PrivateDescriptor&) = delete;

  /// -1 if there is none, and in a forked child.
  [[nodiscard]] int get() const;
  void close();

  struct Node;

 private:
  std::unique_ptr<Node> node_;
};

/// Calls `what` in each forked child, before fork() returns there. It must do nothing but assign
/// memory. Never taken back, so not for objects that end.
void on_fork_in_child(void (*what)());

/// The process that was running when this was made.
class HomeProcess {
 public:
  HomeProcess();
  /// Is this another process, a forked child?
  [[nodiscard]] bool elsewhere() const;
  [[nodiscard]] pid_t id() const { return id_; }

 private:
  pid_t id_;
};

}  // namespace bento
