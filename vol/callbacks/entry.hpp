// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// How HDF5 comes into the connector: every callback knows whether another one is under way, which
/// is so when a program calls HDF5 from a callback of its own or from an iteration. A call that
/// changes a file, and is no such inner one, first commits the file if `commit=SECONDS` says so.
/// Each call that changes a file lets go of metadata of which the library keeps too much.
#pragma once

#include <hdf5.h>

#include "core/base/program_call.hpp"
#include "hdf5/base/error_bridge.hpp"
#include "vol/file/commit_timer.hpp"
#include "vol/file/flush.hpp"
#include "vol/file/object.hpp"
#include "vol/file/unflushed_changes.hpp"

namespace bento::vol {

/// Callbacks that are under way in this process. HDF5 lets in one thread at a time.
class CallDepth {
 public:
  CallDepth() {
    ++depth();
    ProgramCall::begin();  // also in an iteration: its callbacks may hear from other ranks
  }
  ~CallDepth() { --depth(); }
  CallDepth(const CallDepth&) = delete;
  CallDepth& operator=(const CallDepth&) = delete;
  [[nodiscard]] bool outermost() const { return depth() == 1; }

 private:
  static unsigned& depth() {
    static unsigned calls = 0;
    return calls;
  }
};

namespace detail {

/// The type of a callback; those that are noexcept count as their plain type.
template <class R, class... A>
auto plain(R (*)(A...)) -> R (*)(A...);

template <auto Callback, auto Changes, class Type>
struct Entry;

template <auto Callback, auto Changes, class R, class... A>
struct Entry<Callback, Changes, R (*)(A...)> {
  static R call(A... args) noexcept {
    const CallDepth call;
    return Callback(args...);
  }
  static R change(A... args) noexcept {
    const CallDepth call;
    const bool may_commit = call.outermost() && CommitTimer::any();
    if (may_commit || UnflushedChanges::any()) {
      const herr_t done = guard<herr_t>("commit", [&]() -> Status {
        auto* const object = static_cast<Object*>(Changes(args...));
        if (may_commit) BENTO_TRY(flush_if_due(object));
        // Also in a call from an iteration: for other ranks the same change may not be in one.
        return shrink_cache_if_due(object);
      });
      if (done < 0) return failure_value<R>();
    }
    return Callback(args...);
  }
};

inline constexpr auto kNothing = [](auto...) -> void* { return nullptr; };
/// Of most callbacks the first argument says what is changed, or where.
inline constexpr auto kFirst = [](void* object, auto...) -> void* { return object; };

}  // namespace detail

/// A callback that changes no file.
template <auto Callback>
inline constexpr auto kEntry =
    &detail::Entry<Callback, detail::kNothing, decltype(detail::plain(Callback))>::call;

/// One that does. `Changes` is given its arguments, and returns the object that tells the file, or
/// null if this call changes none.
template <auto Callback, auto Changes = detail::kFirst>
inline constexpr auto kChangingEntry =
    &detail::Entry<Callback, Changes, decltype(detail::plain(Callback))>::change;

}  // namespace bento::vol
