// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Being the only process that joins, leaves or lays out, for as long as an object lives.
#pragma once

#include "core/base/error.hpp"
#include "core/joined/joined_container.hpp"

namespace bento {

/// Holds the gate for a while; it may be passed again inside.
class JoinedContainer::Gate {
 public:
  explicit Gate(JoinedContainer& owner) : owner_(owner) {}
  ~Gate() { leave(); }
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;
  Status enter() {
    BENTO_TRY(owner_.enter_gate());
    inside_ = true;
    return {};
  }
  void leave() {
    if (inside_ && --owner_.gate_depth_ == 0) owner_.locks_.leave_gate();
    inside_ = false;
  }

 private:
  JoinedContainer& owner_;
  bool inside_ = false;
};

}  // namespace bento
