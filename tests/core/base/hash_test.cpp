// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <catch2/catch_test_macros.hpp>

#include "core/base/hash.hpp"
#include "core/base/hash_kernel.hpp"

using namespace bento;

namespace {

std::string hex(const Hash128& hash) {
  std::string text;
  for (const auto byte : hash) text += fmt::format("{:02x}", std::to_integer<unsigned>(byte));
  return text;
}

std::vector<std::byte> pattern(std::size_t bytes) {
  std::vector<std::byte> result(bytes);
  for (std::size_t i = 0; i < bytes; ++i) result[i] = static_cast<std::byte>((i * 7 + 3) % 251);
  return result;
}

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

/// What Debian's libxxhash 0.8.1 says; each length takes another path through the algorithm.
struct Vector {
  std::size_t bytes;
  std::string_view hash;
};
constexpr Vector kVectors[] = {
    {17, "bfd327edcc2fbd12eeed7654312a26d7"},     {128, "a04233e3c9599748ef7e4d57ed67de26"},
    {129, "6e83694c09641bb7a28da26446fd5ab0"},    {240, "9a8457fec9cfea5e2288b3c22f48dea4"},
    {241, "07870750a974395682b1de299f6e411e"},    {1024, "f96a1bbdb2fef572f75e768c7cdd54b2"},
    {100003, "ed826d2b4647a0d7ae430b63a577f0c4"},
};

std::vector<const HashKernel*> kernels() {
  std::vector<const HashKernel*> all{&portable_hash_kernel(), avx2_hash_kernel(),
                                     avx512_hash_kernel()};
  std::erase(all, nullptr);
  return all;
}

#ifdef __x86_64__
/// Are the upper parts of the vector registers in use? The processor says so in XINUSE (Intel SDM
/// volume 1, 13.6), bits 2 and 6; not every one keeps book.
bool upper_parts_in_use() {
  std::uint32_t low = 0;
  std::uint32_t high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(1));
  return (low & (1u << 2 | 1u << 6)) != 0;
}
void use_upper_parts() {
  __asm__ volatile("vcmptrueps %%ymm0, %%ymm0, %%ymm0" ::: "xmm0");
}
void empty_upper_parts() {
  __asm__ volatile("vzeroupper" ::: "memory");
}

/// Does this processor keep book of them?
bool tells_upper_parts() {
  std::uint32_t a = 0xD;
  std::uint32_t b = 0;
  std::uint32_t c = 1;
  std::uint32_t d = 0;
  if (__builtin_cpu_supports("avx2") == 0) return false;
  __asm__ volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
  if ((a & 1u << 2) == 0) return false;  // XGETBV with ECX = 1
  use_upper_parts();
  const bool in_use = upper_parts_in_use();
  empty_upper_parts();
  return in_use && !upper_parts_in_use();
}
#endif

}  // namespace

#ifdef __x86_64__
// With them in use, SSE instructions are slow: the program's own, and HDF5's type conversions.
TEST_CASE("hash: no upper parts of vector registers are left in use", "[core][base]") {
  if (!tells_upper_parts()) SKIP("this processor does not tell which registers are in use");
  for (const HashKernel* kernel : kernels()) {
    for (const std::size_t bytes : {16u, 200u, 1000u, 2000u, 100003u}) {
      const auto data = pattern(bytes);
      HashState state;
      bool in_use[4] = {};
      (void)kernel->once(data);
      in_use[0] = upper_parts_in_use();
      kernel->reset(state);
      in_use[1] = upper_parts_in_use();
      kernel->update(state, data);
      in_use[2] = upper_parts_in_use();
      (void)kernel->digest(state);
      in_use[3] = upper_parts_in_use();
      empty_upper_parts();
      INFO(kernel->name << ", " << bytes << " bytes");
      CHECK_FALSE(in_use[0]);
      CHECK_FALSE(in_use[1]);
      CHECK_FALSE(in_use[2]);
      CHECK_FALSE(in_use[3]);
    }
  }
}
#endif

TEST_CASE("hash: known values, most significant byte first", "[core][base]") {
  CHECK(hex(hash128({})) == "99aa06d3014798d86001c324468d497f");
  CHECK(hex(hash128(bytes_of("a"))) == "a96faf705af16834e6c632b61e964e1f");
  CHECK(hex(hash128(bytes_of("abc"))) == "06b05ab6733a618578af5f94892f3950");
  CHECK(hex(hash128(bytes_of("0123456789abcdef"))) == "ccba8085a0434e9e0befb4873dbe58f8");
  for (const auto& [bytes, hash] : kVectors) {
    INFO(bytes << " bytes");
    CHECK(hex(hash128(pattern(bytes))) == hash);
  }
}

TEST_CASE("hash: every kernel gives the same values", "[core][base]") {
  for (const HashKernel* kernel : kernels()) {
    INFO(kernel->name);
    for (const auto& [bytes, hash] : kVectors) {
      const auto data = pattern(bytes);
      CHECK(hex(kernel->once(data)) == hash);
      HashState state;
      kernel->reset(state);
      kernel->update(state, data);
      CHECK(hex(kernel->digest(state)) == hash);
    }
  }
}

TEST_CASE("hash: pieces of any size give the hash of the whole", "[core][base]") {
  const auto data = pattern(5000);
  const Hash128 whole = hash128(data);
  for (const std::size_t piece : {1u, 3u, 64u, 255u, 256u, 257u, 1024u, 4999u}) {
    INFO("pieces of " << piece);
    Hasher hasher;
    for (std::size_t at = 0; at < data.size(); at += piece)
      hasher.update(std::span(data).subspan(at, std::min(piece, data.size() - at)));
    CHECK(hasher.digest() == whole);
  }
}

TEST_CASE("hash: a digest does not end a stream, a reset does", "[core][base]") {
  const auto data = pattern(3000);
  Hasher hasher;
  CHECK(hasher.digest() == hash128({}));
  hasher.update(std::span(data).first(1000));
  CHECK(hasher.digest() == hash128(std::span(data).first(1000)));
  hasher.update({});
  hasher.update(std::span(data).subspan(1000));
  CHECK(hasher.digest() == hash128(data));
  Hasher moved = std::move(hasher);
  CHECK(moved.digest() == hash128(data));
  moved.reset();
  CHECK(moved.digest() == hash128({}));
}

TEST_CASE("hash: data at any alignment", "[core][base]") {
  const auto data = pattern(2000);
  for (std::size_t shift = 0; shift < 65; ++shift) {
    std::vector<std::byte> moved(shift + data.size());
    std::copy(data.begin(), data.end(), moved.begin() + static_cast<std::ptrdiff_t>(shift));
    REQUIRE(hash128(std::span(moved).subspan(shift)) == hash128(data));
  }
}
