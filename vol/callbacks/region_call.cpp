// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "vol/callbacks/region_call.hpp"

#include <cstdint>

#include "core/base/program_call.hpp"
#include "hdf5/base/error_bridge.hpp"
#include "vol/file/file_context.hpp"

namespace bento::vol {

namespace {

constexpr std::uint64_t kNever = 0;

// Numbers of callbacks, to tell whether one came right after another.
std::uint64_t file_asked = kNever;
std::uint64_t sizes_asked = kNever;
const Object* sizes_of = nullptr;

}  // namespace

void RegionCall::file_was_asked() noexcept {
  file_asked = ProgramCall::number();
}

void RegionCall::sizes_were_asked(const Object* file) noexcept {
  if (file_asked == kNever || file_asked + 1 != ProgramCall::number()) return;
  sizes_asked = ProgramCall::number();
  sizes_of = file;
}

bool RegionCall::wants_file(const Object* object) noexcept {
  return sizes_asked != kNever && sizes_asked == ProgramCall::number() && sizes_of == object;
}

void* RegionCall::file_of(const Object* file) noexcept {
  sizes_asked = kNever;
  return guard<void*>("region reference", [&]() -> Result<void*> {
    const auto context = context_of(file);
    if (!context || !context->keeps_regions()) return file->under;
    return context->regions().file(file->under, context->extent_version());
  });
}

}  // namespace bento::vol
