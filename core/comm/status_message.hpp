// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// How a Status travels between ranks.
#pragma once

#include "core/base/error.hpp"
#include "core/bytes/byte_reader.hpp"
#include "core/bytes/byte_writer.hpp"

namespace bento {

/// Appends a status: one byte for success; code, errno and text for an error.
void put_status(ByteWriter& out, const Status& status);
/// Reads it back: the status that was put, or kCorrupt if the bytes are none.
Status get_status(ByteReader& in);

}  // namespace bento
