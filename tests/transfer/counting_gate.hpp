// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// For tests of copying: a gate, and what is in a file.
#pragma once

#include <cstdint>
#include <fstream>
#include <iterator>
#include <string>

#include "transfer/gate.hpp"

namespace bento::test {

/// Lets everything through, and counts; stops after so many bytes.
class CountingGate final : public transfer::Gate {
 public:
  explicit CountingGate(std::uint64_t burst, std::uint64_t most = ~0ULL)
      : burst_(burst), most_(most) {}
  Result<bool> pass() override { return bytes < most_; }
  void copied(std::uint64_t more) override { bytes += more; }
  [[nodiscard]] std::uint64_t piece() const override { return 10'000; }
  [[nodiscard]] std::uint64_t burst() const override { return burst_; }
  std::uint64_t bytes = 0;

 private:
  std::uint64_t burst_;
  std::uint64_t most_;
};

inline std::string content(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace bento::test
