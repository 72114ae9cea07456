// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/container/operation_log.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "core/base/error.hpp"
#include "core/bytes/byte_reader.hpp"
#include "core/bytes/byte_writer.hpp"

namespace bento {

namespace {

constexpr std::size_t kTextBytes = 200;

struct DecodedLog {
  std::uint64_t calls = 0;
  std::vector<std::pair<std::uint64_t, std::string>> kept;

  [[nodiscard]] std::string call(std::size_t index) const {
    return index < kept.size() ? kept[index].second : std::string("none");
  }
};

Result<DecodedLog> decode(std::span<const std::byte> bytes) {
  DecodedLog log;
  ByteReader in(bytes, std::endian::little, "log of operations");
  BENTO_ASSIGN(log.calls, in.u64());
  BENTO_ASSIGN(const std::uint64_t kept, in.u64());
  BENTO_TRY(in.fits(kept, 16));
  for (std::uint64_t i = 0; i < kept; ++i) {
    BENTO_ASSIGN(const std::uint64_t hash, in.u64());
    BENTO_ASSIGN(const std::uint64_t length, in.u64());
    BENTO_ASSIGN(const auto text, in.bytes(length));
    log.kept.emplace_back(hash,
                          std::string(reinterpret_cast<const char*>(text.data()), text.size()));
  }
  return log;
}

}  // namespace

void OperationLog::note(std::string_view what, std::string_view detail) {
  const auto mix = [this](std::string_view text) {
    constexpr std::uint64_t kPrime = 0x100000001B3ull;  // FNV-1a
    for (const char c : text) hash_ = (hash_ ^ static_cast<unsigned char>(c)) * kPrime;
    hash_ = (hash_ ^ 0xFFu) * kPrime;
  };
  mix(what);
  mix(detail);
  ++calls_;
  if (kept_.size() >= kKept) return;
  std::string text(what);
  if (!detail.empty()) text += fmt::format(" '{}'", detail.substr(0, kTextBytes));
  kept_.push_back({hash_, std::move(text)});
}

void OperationLog::agreed() {
  calls_ = 0;
  kept_.clear();
}

Bytes OperationLog::encode() const {
  ByteWriter out;
  out.u64(calls_);
  out.u64(kept_.size());
  for (const auto& call : kept_) {
    out.u64(call.hash);
    out.u64(call.text.size());
    out.bytes(std::as_bytes(std::span(call.text)));
  }
  return std::move(out).take();
}

std::string first_difference(std::span<const Bytes> logs) {
  if (logs.empty()) return {};
  const auto first = decode(logs[0]);
  if (!first) return first.error().text;
  std::size_t best = ~std::size_t{0};
  std::string text;
  for (std::size_t rank = 1; rank < logs.size(); ++rank) {
    const auto other = decode(logs[rank]);
    if (!other) return other.error().text;
    const std::size_t most = std::max(first->kept.size(), other->kept.size());
    std::size_t at = 0;
    while (at < first->kept.size() && at < other->kept.size() &&
           first->kept[at].first == other->kept[at].first)
      ++at;
    if (at >= best || (at == most && first->calls == other->calls)) continue;
    best = at;
    text = at < most
               ? fmt::format("call {} since the last commit is {} on rank 0 and {} on rank {}",
                             at + 1, first->call(at), other->call(at), rank)
               : fmt::format("rank 0 has made {} calls since the last commit and rank {} {}",
                             first->calls, rank, other->calls);
  }
  if (text.empty()) text = fmt::format("they differ behind the first {} calls", first->kept.size());
  return text;
}

}  // namespace bento
