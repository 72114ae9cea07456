// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// The board of one other rank, wherever that is. Task-local.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "core/base/error.hpp"
#include "core/board/board_log.hpp"
#include "core/board/board_memory.hpp"
#include "core/board/remote_nodes.hpp"
#include "core/io/shared_memory.hpp"

namespace bento {

class OtherBoard {
 public:
  using Use = std::function<void(std::span<const std::byte>)>;
  virtual ~OtherBoard() = default;

  /// How far the log goes.
  [[nodiscard]] virtual LogHead head() const = 0;
  /// Bytes of the log, which head() must cover; valid until the next call. Errors: kNoSpace, kPeer.
  virtual Result<std::span<const std::byte>> log(std::uint64_t from, std::uint64_t to) = 0;
  /// Calls `use` with bytes of an area, and says whether they were there all the time. Errors: as
  /// log().
  virtual Result<bool> with_bytes(const BufferPlace& place, std::uint64_t bytes,
                                  const Use& use) = 0;
};

/// That of a rank of this node, in the memory that they share.
class NeighbourBoard final : public OtherBoard {
 public:
  /// That of the `index`-th rank of the node. `descriptor` and `head` must outlive it.
  NeighbourBoard(int descriptor, std::uint32_t index, const RankHead& head);

  [[nodiscard]] LogHead head() const override;
  Result<std::span<const std::byte>> log(std::uint64_t from, std::uint64_t to) override;
  Result<bool> with_bytes(const BufferPlace& place, std::uint64_t bytes, const Use& use) override;

 private:
  const RankHead* head_;
  SharedWindow log_;
  SharedWindow areas_[2];
};

/// That of a rank of another node. Its head is as of the last look at all.
class RemoteBoard final : public OtherBoard {
 public:
  RemoteBoard(RemoteNodes& nodes, std::uint32_t rank) : nodes_(&nodes), rank_(rank) {}

  [[nodiscard]] LogHead head() const override { return nodes_->found(rank_); }
  Result<std::span<const std::byte>> log(std::uint64_t from, std::uint64_t to) override {
    return nodes_->log(rank_, from, to);
  }
  Result<bool> with_bytes(const BufferPlace& place, std::uint64_t bytes, const Use& use) override;

 private:
  RemoteNodes* nodes_;
  std::uint32_t rank_;
};

}  // namespace bento
