// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
//
// Why nettle. This code ends up in a plugin that unknown programs load and unload:
//  - libcrypto refuses MD5 where the host runs in FIPS mode, keeps process-wide state and exit
//  handlers that
//    outlive an unloaded plugin, and Python wheels bring a second copy of it into the process;
//  - libmd exports MD5Init, MD5Update and MD5Final, names that many programs define themselves,
//  with another
//    context layout, and the definition of the program would win;
//  - nettle prefixes and versions its symbols, has no state besides the caller's context, and is
//  packaged everywhere.
#include "core/fti/md5.hpp"

#include <algorithm>
#include <cstdint>

#include <nettle/md5.h>
#include <nettle/version.h>

namespace bento::fti {

struct Md5::State {
  md5_ctx context;
};

Md5::Md5() : state_(std::make_unique<State>()) {
  md5_init(&state_->context);
}
Md5::~Md5() = default;
Md5::Md5(const Md5& other) : state_(std::make_unique<State>(*other.state_)) {}
Md5& Md5::operator=(const Md5& other) {
  if (this != &other) *state_ = *other.state_;
  return *this;
}
Md5::Md5(Md5&&) noexcept = default;
Md5& Md5::operator=(Md5&&) noexcept = default;

void Md5::update(std::span<const std::byte> bytes) {
  // An empty span may carry a null pointer, which memcpy inside nettle must not see.
  if (bytes.empty()) return;
  md5_update(&state_->context, bytes.size(), reinterpret_cast<const std::uint8_t*>(bytes.data()));
}

void Md5::update_zeros(std::uint64_t count) {
  static constexpr std::array<std::byte, 16384> kZeros{};
  while (count > 0) {
    const auto piece = static_cast<std::size_t>(std::min<std::uint64_t>(count, kZeros.size()));
    update(std::span(kZeros).first(piece));
    count -= piece;
  }
}

Digest Md5::digest() const {
  md5_ctx copy = state_->context;  // finishing alters the context
  std::array<std::uint8_t, MD5_DIGEST_SIZE> raw{};
#if NETTLE_VERSION_MAJOR >= 4
  md5_digest(&copy, raw.data());
#else
  md5_digest(&copy, raw.size(), raw.data());
#endif
  Digest digest;
  std::transform(raw.begin(), raw.end(), digest.begin(),
                 [](std::uint8_t b) { return std::byte{b}; });
  return digest;
}

Digest md5(std::span<const std::byte> bytes) {
  Md5 hash;
  hash.update(bytes);
  return hash.digest();
}

}  // namespace bento::fti
