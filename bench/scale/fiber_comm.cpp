// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "bench/scale/fiber_comm.hpp"

#include <fmt/format.h>

#include "core/comm/gathered.hpp"
#include "core/comm/rank_tree.hpp"

namespace bento::scale {

class FiberCommunicator final : public Communicator {
 public:
  FiberCommunicator(FiberGroup& group, int rank) : group_(group), rank_(rank) {}

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return group_.size(); }
  [[nodiscard]] std::string node() const override {
    return group_.ranks_per_node_ == 0 ? name_of_node(rank_)
                                       : fmt::format("node {}", rank_ / group_.ranks_per_node_);
  }

  Result<std::vector<Bytes>> gather(std::span<const std::byte> payload) override {
    BENTO_ASSIGN(const Bytes collected, combine(pack_payload(rank_, payload), &join_payloads));
    if (rank_ != 0) return std::vector<Bytes>{};
    return unpack_payloads(collected, size());
  }

  Result<Bytes> combine(std::span<const std::byte> payload, const Merge& merge) override {
    Bytes collected(payload.begin(), payload.end());
    for (const int child : children_of(rank_, size()))
      collected = merge(collected, *group_.receive(child, rank_));
    if (rank_ == 0) return collected;
    group_.send(rank_, parent_of(rank_), std::make_shared<const Bytes>(std::move(collected)));
    return Bytes{};
  }

  Result<Bytes> broadcast(std::span<const std::byte> payload) override {
    const auto message = rank_ == 0 ? std::make_shared<const Bytes>(payload.begin(), payload.end())
                                    : group_.receive(parent_of(rank_), rank_);
    const auto children = children_of(rank_, size());
    for (auto child = children.rbegin(); child != children.rend(); ++child)
      group_.send(rank_, *child, message);
    return *message;
  }

  Result<Bytes> shift(int distance, std::span<const std::byte> payload) override {
    const int to = further_by(rank_, distance, size());
    if (to == rank_) return Bytes(payload.begin(), payload.end());
    group_.send(rank_, to, std::make_shared<const Bytes>(payload.begin(), payload.end()));
    return *group_.receive(further_by(rank_, -distance, size()), rank_);
  }

 private:
  FiberGroup& group_;
  int rank_;
};

FiberGroup::FiberGroup(Fibers& fibers, int ranks, int ranks_per_node)
    : fibers_(fibers), ranks_per_node_(ranks_per_node), traffic_(static_cast<std::size_t>(ranks)) {}

std::shared_ptr<Communicator> FiberGroup::communicator(int rank) {
  return std::make_shared<FiberCommunicator>(*this, rank);
}

void FiberGroup::reset_traffic() {
  traffic_.assign(traffic_.size(), {});
}

void FiberGroup::send(int from, int to, Message message) {
  auto& mine = traffic_[static_cast<std::size_t>(from)];
  ++mine.sent;
  mine.bytes_sent += kMessageHeadBytes + message->size();
  under_way_[lane(from, to)].push_back(std::move(message));
  fibers_.wake(static_cast<std::size_t>(to));
}

FiberGroup::Message FiberGroup::receive(int from, int to) {
  const std::uint64_t key = lane(from, to);
  while (!under_way_.contains(key)) fibers_.wait();
  const auto found = under_way_.find(key);
  Message message = std::move(found->second.front());
  found->second.erase(found->second.begin());
  if (found->second.empty()) under_way_.erase(found);
  auto& mine = traffic_[static_cast<std::size_t>(to)];
  ++mine.got;
  mine.bytes_got += kMessageHeadBytes + message->size();
  return message;
}

}  // namespace bento::scale
