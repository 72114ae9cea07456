// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// The one error type of the project, and the result type that carries it. Nothing here prints,
/// throws or knows about HDF5's error stack; hdf5/base translates an Error at the C edge.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include <tl/expected.hpp>

namespace bento {

/// What kind of failure, for code that must decide. People read Error::text.
enum class Code {
  kNotFound,
  kExists,
  kCorrupt,          ///< bytes on disk contradict the format or their checksum
  kUnsupported,      ///< well-formed, but newer than this code or outside its scope
  kInvalidArgument,  ///< the caller's fault: bad key, bad selection, bad size
  kIo,
  kNoSpace,
  kPermission,
  kBusy,  ///< another writer holds the container
  kPeer,  ///< another rank failed, or did not answer in time
  kInternal,
};

/// Short lower-case name of a code ("corrupt", "no space").
std::string_view to_string(Code code);

/// A failure. `text` says operation, file, offset or rank, and what was found and wanted.
/// Construction, moves and destruction are function calls: inlined at the end of each function that
/// can fail, they were a fifth of the machine code.
struct Error {
  Code code = Code::kInternal;
  std::string text;
  int os_errno = 0;  ///< errno of the failing call, 0 if none

  Error();
  Error(Code code, std::string text, int os_errno = 0);
  Error(const Error& other);
  Error(Error&& other) noexcept;
  Error& operator=(const Error& other);
  Error& operator=(Error&& other) noexcept;
  ~Error();

  /// Returns the error with "`context`: " in front of its text.
  [[nodiscard]] Error with_context(std::string_view context) &&;
};

/// Error from an errno value: picks the code, appends strerror and "(errno = N)".
Error os_error(int os_errno, std::string_view operation, std::string_view path);

/// A value or an Error. [[nodiscard]] is why this is a class of its own and not an alias.
template <class T>
struct [[nodiscard]] Result : tl::expected<T, Error> {
  using Base = tl::expected<T, Error>;
  using Base::Base;
  Result(Base&& base)
      : Base(std::move(base)) {}  // NOLINT: map() and and_then() results convert back
};

using Status = Result<void>;

/// Builds the error branch of any Result.
tl::unexpected<Error> fail(Code code, std::string text, int os_errno = 0);
tl::unexpected<Error> fail(Error&& error);
tl::unexpected<Error> fail(const Error& error);

}  // namespace bento

#define BENTO_CONCAT_INNER(a, b) a##b
#define BENTO_CONCAT(a, b) BENTO_CONCAT_INNER(a, b)

/// TRY(expr): returns the error of `expr` from the enclosing function.
#define BENTO_TRY(expr) BENTO_TRY_IMPL(BENTO_CONCAT(bento_try_, __COUNTER__), expr)
#define BENTO_TRY_IMPL(tmp, expr)                           \
  do {                                                      \
    auto tmp = (expr);                                      \
    if (!tmp) return ::bento::fail(std::move(tmp).error()); \
  } while (false)

/// BENTO_ASSIGN(decl, expr): `decl` gets the value of `expr`, or the enclosing function returns its
/// error.
#define BENTO_ASSIGN(decl, expr) \
  BENTO_ASSIGN_IMPL(BENTO_CONCAT(bento_try_, __COUNTER__), decl, expr)
#define BENTO_ASSIGN_IMPL(tmp, decl, expr)                \
  auto tmp = (expr);                                      \
  if (!tmp) return ::bento::fail(std::move(tmp).error()); \
  decl = std::move(*tmp)
