// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/comm/communicator.hpp"

namespace bento {

namespace {

class SelfCommunicator final : public Communicator {
 public:
  [[nodiscard]] int rank() const override { return 0; }
  [[nodiscard]] int size() const override { return 1; }
  Result<std::vector<Bytes>> gather(std::span<const std::byte> payload) override {
    std::vector<Bytes> all;
    all.emplace_back(payload.begin(), payload.end());
    return all;
  }
  Result<Bytes> combine(std::span<const std::byte> payload, const Merge&) override {
    return Bytes(payload.begin(), payload.end());
  }
  Result<Bytes> broadcast(std::span<const std::byte> payload) override {
    return Bytes(payload.begin(), payload.end());
  }
  Result<Bytes> shift(int, std::span<const std::byte> payload) override {
    return Bytes(payload.begin(), payload.end());
  }
};

}  // namespace

std::unique_ptr<Communicator> make_self_communicator() {
  return std::make_unique<SelfCommunicator>();
}

}  // namespace bento
