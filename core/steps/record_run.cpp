// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/steps/record_run.hpp"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "core/base/checked.hpp"
#include "core/bytes/zigzag.hpp"

namespace bento {

namespace {

/// Longest body that is looked for. A block grid of three dimensions with remainders needs about
/// twelve.
constexpr std::size_t kMaxBody = 32;

constexpr std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
  hash = (hash ^ value) * 0x9E3779B97F4A7C15ull;
  return hash ^ (hash >> 29);
}

bool same_tokens(const RunToken* a, const RunToken* b, std::size_t count);

/// Do both repeat the same thing, whatever the number of times?
bool same_content(const RunToken& a, const RunToken& b) {
  return a.content == b.content && a.symbol == b.symbol && a.body.size() == b.body.size() &&
         same_tokens(a.body.data(), b.body.data(), a.body.size());
}

bool same_tokens(const RunToken* a, const RunToken* b, std::size_t count) {
  for (std::size_t i = count; i-- > 0;)
    if (a[i].power != b[i].power || a[i].content != b[i].content) return false;
  for (std::size_t i = 0; i < count; ++i)
    if (!same_content(a[i], b[i])) return false;
  return true;
}

void rehash(RunToken& token) {
  if (token.symbol != RunToken::kLoop) {
    token.content = mix(0x51ED270B, token.symbol);
    return;
  }
  token.content = 0xA0761D64;
  for (const auto& inner : token.body)
    token.content = mix(mix(token.content, inner.content), inner.power);
}

std::size_t count_tokens(std::span<const RunToken> list) {
  std::size_t count = list.size();
  for (const auto& token : list)
    if (!token.body.empty()) count += count_tokens(token.body);
  return count;
}

}  // namespace

RecordRun::RecordRun(Memory memory)
    : first_(memory), last_(memory), symbols_(memory), symbol_hashes_(memory), list_(memory) {}

RecordRun::RecordRun(unsigned width, std::span<const std::uint64_t> first)
    : width_(width), records_(1), first_(first.begin(), first.begin() + width), last_(first_) {}

std::uint32_t RecordRun::intern(std::span<const std::uint64_t> difference) {
  std::uint64_t hash = width_;
  for (const auto value : difference) hash = mix(hash, value);
  for (std::size_t i = 0; i < symbol_hashes_.size(); ++i)
    if (symbol_hashes_[i] == hash &&
        std::ranges::equal(symbol(static_cast<std::uint32_t>(i)), difference))
      return static_cast<std::uint32_t>(i);
  symbols_.insert(symbols_.end(), difference.begin(), difference.end());
  symbol_hashes_.push_back(hash);
  return static_cast<std::uint32_t>(symbol_hashes_.size() - 1);
}

void RecordRun::push(std::span<const std::uint64_t> row) {
  Row difference;
  for (unsigned f = 0; f < width_; ++f) {
    difference[f] = row[f] - last_[f];
    last_[f] = row[f];
  }
  RunToken token;
  token.symbol = intern(std::span<const std::uint64_t>(difference).first(width_));
  rehash(token);
  push_token(std::move(token));
  ++records_;
  recount();
}

void RecordRun::append(const RecordRun& next) {
  push(next.first_);
  for (const auto& token : next.list_) push_token(translate(next, token));
  records_ += next.records_ - 1;
  last_ = next.last_;
  recount();
}

void RecordRun::recount() {
  token_count_ = 1 + count_tokens(list_);
}

RunToken RecordRun::translate(const RecordRun& from, const RunToken& token) {
  RunToken own;
  own.power = token.power;
  if (token.symbol != RunToken::kLoop) {
    own.symbol = intern(from.symbol(token.symbol));
  } else {
    own.body.reserve(token.body.size());
    for (const auto& inner : token.body) own.body.push_back(translate(from, inner));
  }
  rehash(own);
  return own;
}

// Keeps the list short: equal neighbours add up, and loops begin as early as they can (their phase
// is the leftmost one), so that the halves of a row or plane that was cut between two runs find
// each other again.
void RecordRun::push_token(RunToken token) {
  if (token.symbol == RunToken::kLoop) {
    auto& body = token.body;
    while (list_.size() >= body.size() &&
           same_tokens(&list_[list_.size() - body.size()], body.data(), body.size())) {
      list_.resize(list_.size() - body.size());
      ++token.power;
    }
    // X (Y X)^n = (X Y)^n X
    for (std::size_t tail = body.size() - 1; tail > 0; --tail) {
      if (list_.size() < tail ||
          !same_tokens(&list_[list_.size() - tail], &body[body.size() - tail], tail) ||
          same_content(body.back(), body.front()))
        continue;
      const std::vector<RunToken> suffix(body.end() - static_cast<std::ptrdiff_t>(tail),
                                         body.end());
      list_.resize(list_.size() - tail);
      std::rotate(body.begin(), body.end() - static_cast<std::ptrdiff_t>(tail), body.end());
      rehash(token);
      push_token(std::move(token));
      for (const auto& rest : suffix) push_token(rest);
      return;
    }
  }
  if (!list_.empty() && same_content(list_.back(), token))
    list_.back().power += token.power;
  else
    list_.push_back(std::move(token));
  reduce();
}

void RecordRun::reduce() {
  for (bool changed = true; changed;) {
    changed = false;
    const std::size_t size = list_.size();
    const std::size_t longest = std::min(kMaxBody, size - 1);
    for (std::size_t b = 1; b <= longest && !changed; ++b) {
      const RunToken* const tail = &list_[size - b];
      RunToken& before = list_[size - b - 1];
      if (before.symbol == RunToken::kLoop && before.body.size() == b &&
          same_tokens(before.body.data(), tail, b)) {
        ++before.power;
        list_.resize(size - b);
        changed = true;
      } else if (2 * b <= size && before.content == list_.back().content &&
                 same_tokens(tail - b, tail, b)) {
        RunToken loop;
        loop.power = 2;
        loop.body.assign(list_.end() - static_cast<std::ptrdiff_t>(b), list_.end());
        rehash(loop);
        list_.resize(size - 2 * b);
        if (!list_.empty() && same_content(list_.back(), loop))
          list_.back().power += loop.power;
        else
          list_.push_back(std::move(loop));
        changed = true;
      }
    }
  }
}

namespace {

/// In the place of a ByteWriter: only counts.
struct ByteCount {
  std::size_t bytes = 0;
  void u8(std::uint8_t) { ++bytes; }
  void varint(std::uint64_t value) {
    bytes += static_cast<std::size_t>(std::bit_width(value | 1) + 6) / 7;
  }
};

template <class Out>
void put_list(Out& out, std::span<const RunToken> list) {
  out.varint(list.size());
  for (const auto& token : list) {
    const bool loop = token.symbol == RunToken::kLoop;
    out.varint(token.power << 1 | (loop ? 1u : 0u));
    if (loop)
      put_list(out, token.body);
    else
      out.varint(token.symbol);
  }
}

}  // namespace

void RecordRun::encode_one(ByteWriter& out, std::span<const std::uint64_t> row) {
  for (const auto value : row) out.varint(zigzag(value));
  out.varint(0);  // differences
  out.varint(0);  // tokens
}

template <class Out>
void RecordRun::put(Out& out) const {
  for (const auto value : first_) out.varint(zigzag(value));
  out.varint(symbol_hashes_.size());
  for (std::size_t i = 0; i < symbol_hashes_.size(); ++i) {
    const auto difference = symbol(static_cast<std::uint32_t>(i));
    for (unsigned f = 0; f < width_; f += 8) {
      unsigned mask = 0;
      for (unsigned bit = 0; bit < 8 && f + bit < width_; ++bit)
        if (difference[f + bit] != 0) mask |= 1u << bit;
      out.u8(static_cast<std::uint8_t>(mask));
    }
    for (const auto value : difference)
      if (value != 0) out.varint(zigzag(value));
  }
  put_list(out, list_);
}

void RecordRun::encode(ByteWriter& out) const {
  put(out);
}

std::size_t RecordRun::encoded_bytes() const {
  ByteCount count;
  put(count);
  return count.bytes;
}

Result<RecordRun> RecordRun::decode(std::span<const std::byte> bytes, unsigned width,
                                    Memory memory) {
  ByteReader in(bytes, std::endian::little, "index run");
  BENTO_ASSIGN(RecordRun run, decode(in, width, memory));
  if (in.remaining() != 0)
    return fail(Code::kCorrupt, fmt::format("index run: {} bytes left over", in.remaining()));
  return run;
}

Result<RecordRun> RecordRun::decode(ByteReader& in, unsigned width, Memory memory) {
  RecordRun run(memory);
  run.width_ = width;
  BENTO_TRY(in.fits(width, 1));
  run.first_.resize(width);
  for (auto& value : run.first_) {
    BENTO_ASSIGN(value, in.varint());
    value = unzigzag(value);
  }
  BENTO_ASSIGN(const std::uint64_t symbols, in.varint());
  const std::size_t mask_bytes = (width + 7) / 8;
  BENTO_TRY(in.fits(symbols, mask_bytes));
  if (symbols > kMaxRunTokens)
    return fail(Code::kCorrupt, fmt::format("step index: {} differences in a run", symbols));
  run.symbols_.reserve(static_cast<std::size_t>(symbols) * width);
  run.symbol_hashes_.reserve(static_cast<std::size_t>(symbols));
  for (std::uint64_t i = 0; i < symbols; ++i) {
    BENTO_ASSIGN(const auto mask, in.bytes(mask_bytes));
    std::uint64_t hash = width;
    for (unsigned f = 0; f < width; ++f) {
      std::uint64_t value = 0;
      if ((std::to_integer<unsigned>(mask[f / 8]) >> (f % 8) & 1u) != 0) {
        BENTO_ASSIGN(value, in.varint());
      }
      run.symbols_.push_back(unzigzag(value));
      hash = mix(hash, run.symbols_.back());
    }
    run.symbol_hashes_.push_back(hash);
  }
  if (symbols == 0) {  // a single record, as most small datasets have, has no list
    BENTO_ASSIGN(const std::uint64_t tokens, in.varint());
    if (tokens != 0) return fail(Code::kCorrupt, "step index: a run that repeats nothing");
    run.records_ = 1;
    run.token_count_ = 1;
    run.last_ = run.first_;
    return run;
  }
  Row shift{};
  run.records_ = 0;
  BENTO_TRY(run.decode_list(in, run.list_, shift, run.records_, 0));
  if (++run.records_ > kMaxRunRecords)
    return fail(Code::kCorrupt, "step index: a run of too many records");
  run.last_ = run.first_;
  for (unsigned f = 0; f < width; ++f) run.last_[f] += shift[f];
  run.recount();
  return run;
}

Status RecordRun::decode_list(ByteReader& in, std::pmr::vector<RunToken>& list, Row& shift,
                              std::uint64_t& records, unsigned depth) {
  if (depth > kMaxRunDepth) return fail(Code::kCorrupt, "step index: loops nested too deeply");
  BENTO_ASSIGN(const std::uint64_t count, in.varint());
  BENTO_TRY(in.fits(count, 2));
  token_count_ += static_cast<std::size_t>(count);
  if (token_count_ > kMaxRunTokens)
    return fail(Code::kCorrupt, fmt::format("step index: a run of {} tokens", token_count_));
  if (count == 0 && depth != 0) return fail(Code::kCorrupt, "step index: an empty loop");
  list.reserve(static_cast<std::size_t>(count));
  for (std::uint64_t i = 0; i < count; ++i) {
    RunToken token;
    BENTO_ASSIGN(const std::uint64_t head, in.varint());
    token.power = head >> 1;
    std::uint64_t inner = 1;
    Row inner_shift{};
    if ((head & 1) != 0) {
      inner = 0;
      BENTO_TRY(decode_list(in, token.body, inner_shift, inner, depth + 1));
    } else {
      BENTO_ASSIGN(const std::uint64_t number, in.varint());
      if (number >= symbol_hashes_.size())
        return fail(Code::kCorrupt, fmt::format("step index: difference {} of {} in a run", number,
                                                symbol_hashes_.size()));
      token.symbol = static_cast<std::uint32_t>(number);
      const auto difference = symbol(token.symbol);
      std::ranges::copy(difference, inner_shift.begin());
    }
    if (token.power == 0 || token.power > kMaxRunRecords || inner > kMaxRunRecords ||
        inner > kMaxRunRecords / token.power)
      return fail(Code::kCorrupt,
                  fmt::format("step index: a loop of {} times {} records", token.power, inner));
    records += token.power * inner;
    if (records > kMaxRunRecords)
      return fail(Code::kCorrupt, "step index: a run of too many records");
    for (unsigned f = 0; f < width_; ++f) shift[f] += token.power * inner_shift[f];
    rehash(token);
    list.push_back(std::move(token));
  }
  return {};
}

}  // namespace bento
