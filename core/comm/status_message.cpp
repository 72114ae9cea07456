// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/comm/status_message.hpp"

#include <span>
#include <string>

namespace bento {

void put_status(ByteWriter& out, const Status& status) {
  out.u8(status ? 0 : 1);
  if (status) return;
  const Error& error = status.error();
  out.u8(static_cast<std::uint8_t>(error.code));
  out.i32(error.os_errno);
  out.u64(error.text.size());
  out.bytes(std::as_bytes(std::span(error.text)));
}

Status get_status(ByteReader& in) {
  BENTO_ASSIGN(const std::uint8_t failed, in.u8());
  if (failed == 0) return {};
  Error error;
  BENTO_ASSIGN(const std::uint8_t code, in.u8());
  error.code = code <= static_cast<std::uint8_t>(Code::kInternal) ? static_cast<Code>(code)
                                                                  : Code::kInternal;
  BENTO_ASSIGN(error.os_errno, in.i32());
  BENTO_ASSIGN(const std::uint64_t length, in.u64());
  BENTO_ASSIGN(const auto text, in.bytes(length));
  error.text.assign(reinterpret_cast<const char*>(text.data()), text.size());
  return fail(std::move(error));
}

}  // namespace bento
