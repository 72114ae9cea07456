// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "hdf5/data/held_references.hpp"

#include <cstring>

namespace bento::vol {

namespace {

struct Held {
  const std::byte* bytes;
  std::size_t count;
};
static_assert(sizeof(Held) <= kReferenceBytes);

}  // namespace

Result<std::span<const std::byte>> HeldReferences::get(const std::byte* reference) {
  Held held{};
  std::memcpy(&held, reference, sizeof held);
  return std::span<const std::byte>(held.bytes, held.count);
}

Status HeldReferences::put(std::span<const std::byte> stored, std::byte* reference) {
  auto* const bytes = static_cast<std::byte*>(bytes_.allocate(stored.size()));
  std::memcpy(bytes, stored.data(), stored.size());
  const Held held{bytes, stored.size()};
  std::memset(reference, 0, kReferenceBytes);
  std::memcpy(reference, &held, sizeof held);
  return {};
}

}  // namespace bento::vol
