// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// The communicator of a container whose files are spread over nodes: what rank 0 has written to
/// the common parts of the files goes ahead of each of its messages, so that whoever hears of
/// something finds it in the files of its own node.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/comm/communicator.hpp"
#include "core/spread/spread_files.hpp"

namespace bento {

class SpreadCommunicator final : public Communicator {
 public:
  SpreadCommunicator(std::shared_ptr<Communicator> under, std::shared_ptr<SpreadFiles> files)
      : under_(std::move(under)), files_(std::move(files)) {}

  [[nodiscard]] int rank() const override { return under_->rank(); }
  [[nodiscard]] int size() const override { return under_->size(); }
  Result<std::vector<Bytes>> gather(std::span<const std::byte> payload) override {
    return under_->gather(payload);
  }
  Result<Bytes> combine(std::span<const std::byte> payload, const Merge& merge) override {
    return under_->combine(payload, merge);
  }
  /// One more round where rank 0 has written something. Errors also, equal on all ranks: kNoSpace,
  /// kIo (a node could not keep it).
  Result<Bytes> broadcast(std::span<const std::byte> payload) override;
  /// Nothing goes ahead of it: rank 0's messages to all say what is in the files.
  Result<Bytes> shift(int distance, std::span<const std::byte> payload) override {
    return under_->shift(distance, payload);
  }
  /// Ranks that share a folder: who locks a file locks it for these.
  [[nodiscard]] std::string node() const override;

 private:
  std::shared_ptr<Communicator> under_;
  std::shared_ptr<SpreadFiles> files_;
};

}  // namespace bento
