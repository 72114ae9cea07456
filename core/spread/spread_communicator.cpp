// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/spread/spread_communicator.hpp"

#include <fmt/format.h>

#include "core/bytes/byte_reader.hpp"
#include "core/bytes/byte_writer.hpp"
#include "core/comm/agree.hpp"

namespace bento {

Result<Bytes> SpreadCommunicator::broadcast(std::span<const std::byte> payload) {
  ByteWriter out;
  if (rank() == 0) {
    const Bytes written = files_->take_written();
    out.u64(written.size());
    out.bytes(written);
    out.bytes(payload);
  }
  BENTO_ASSIGN(Bytes blob, under_->broadcast(out.view()));
  ByteReader in(blob, std::endian::little, "message of rank 0");
  BENTO_ASSIGN(const std::uint64_t bytes, in.u64());
  BENTO_ASSIGN(const auto written, in.bytes(bytes));
  // The other ranks of a node read what its lowest one writes now.
  if (!written.empty()) BENTO_TRY(agree(*under_, files_->repeat(written)));
  blob.erase(blob.begin(), blob.begin() + static_cast<std::ptrdiff_t>(in.offset()));
  return blob;
}

std::string SpreadCommunicator::node() const {
  return fmt::format("{} ({})", under_->node(), files_->place().node);
}

}  // namespace bento
