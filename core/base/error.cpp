// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/base/error.hpp"

#include <cerrno>
#include <cstring>

#include <fmt/format.h>

namespace bento {

std::string_view to_string(Code code) {
  switch (code) {
    case Code::kNotFound:
      return "not found";
    case Code::kExists:
      return "exists";
    case Code::kCorrupt:
      return "corrupt";
    case Code::kUnsupported:
      return "unsupported";
    case Code::kInvalidArgument:
      return "invalid argument";
    case Code::kIo:
      return "i/o error";
    case Code::kNoSpace:
      return "no space";
    case Code::kPermission:
      return "permission denied";
    case Code::kBusy:
      return "busy";
    case Code::kPeer:
      return "another rank failed";
    case Code::kInternal:
      return "internal error";
  }
  return "unknown";
}

Error::Error() = default;
Error::Error(Code kind, std::string words, int number)
    : code(kind), text(std::move(words)), os_errno(number) {}
Error::Error(const Error& other) = default;
Error::Error(Error&& other) noexcept = default;
Error& Error::operator=(const Error& other) = default;
Error& Error::operator=(Error&& other) noexcept = default;
Error::~Error() = default;

tl::unexpected<Error> fail(Code code, std::string text, int os_errno) {
  return tl::unexpected<Error>(Error(code, std::move(text), os_errno));
}
tl::unexpected<Error> fail(Error&& error) {
  return tl::unexpected<Error>(std::move(error));
}
tl::unexpected<Error> fail(const Error& error) {
  return tl::unexpected<Error>(error);
}

Error Error::with_context(std::string_view context) && {
  text = fmt::format("{}: {}", context, text);
  return std::move(*this);
}

namespace {
Code code_of_errno(int os_errno) {
  switch (os_errno) {
    case ENOENT:
    case ENOTDIR:
      return Code::kNotFound;
    case EEXIST:
      return Code::kExists;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      return Code::kNoSpace;
    case EACCES:
    case EPERM:
    case EROFS:
      return Code::kPermission;
    case EWOULDBLOCK:
      return Code::kBusy;
    default:
      return Code::kIo;
  }
}
}  // namespace

Error os_error(int os_errno, std::string_view operation, std::string_view path) {
  return Error{code_of_errno(os_errno),
               fmt::format("{} '{}' failed: errno = {}, error message = '{}'", operation, path,
                           os_errno, std::strerror(os_errno)),
               os_errno};
}

}  // namespace bento
