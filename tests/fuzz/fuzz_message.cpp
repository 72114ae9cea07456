// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// The status at the head of every message between ranks.
#include <algorithm>

#include "core/comm/status_message.hpp"
#include "tests/fuzz/target.hpp"

namespace bento::fuzz {

void message(Input input) {
  ByteReader in(input, std::endian::little, "message");
  const Status status = get_status(in);
  require(in.offset() <= input.size(), "no byte beyond the message");
  if (status) return;
  require(status.error().text.size() <= input.size() + 200, "a text is no longer than its message");
  ByteWriter out;
  put_status(out, status);
  ByteReader again(out.view(), std::endian::little, "message");
  const Status read = get_status(again);
  require(!read && read.error().code == status.error().code &&
              read.error().os_errno == status.error().os_errno &&
              read.error().text == status.error().text,
          "a status travels as it is");
  require(again.remaining() == 0, "and nothing behind it is taken");
}

}  // namespace bento::fuzz

BENTO_FUZZ_MAIN(message)
