// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "vol/file/striping_use.hpp"

#include <fmt/format.h>

#include "vol/file/stats.hpp"

namespace bento::vol {

namespace {

constexpr const char* kFactor = "striping_factor";
constexpr const char* kUnit = "striping_unit";

std::string text_unless_zero(std::uint64_t number) {
  return number != 0 ? fmt::format("{}", number) : std::string{};
}

}  // namespace

void take_striping_hints(RequestedConfig& requested, const MpiAccess& access) {
  take_hints(requested, {hint_of(access, kFactor), hint_of(access, kUnit)});
}

void ask_for_striping(ContainerOptions& options, const Config& config) {
  options.striping = {config.stripe_count, config.stripe_size};
  options.stream.stripe_bytes = config.stripe_size;
  if (!options.striping.asked()) return;
  options.opener = [under = std::move(options.opener), wanted = options.striping,
                    calls = system_striping_calls()](const std::string& path, OpenMode mode) {
    const bool makes = makes_a_file(mode);
    return makes && calls.is_lustre(path) ? open_striped_file(path, mode, wanted, calls)
                                          : under(path, mode);
  };
}

Striping striping_in_use(Container& container, const Config& config) {
  const auto calls = system_striping_calls();
  const std::string& path = container.names().first();
  if (calls.is_lustre(path))
    return striping_of(path, container.descriptor(), calls).value_or(Striping{});
  const std::uint64_t bytes = config.stripe_size;
  return {0, bytes != 0 && container.root().fs_block % bytes == 0 ? bytes : 0};
}

// Asking may open a file, so nobody asks in vain.
void note_striping_in_use(const std::string& name, Container& container, const Config& config) {
  if (!Stats::get().wanted()) return;
  const Striping used = striping_in_use(container, config);
  Stats::get().note_striping(name, used.servers, used.bytes);
}

std::vector<UsedHint> used_striping_hints(Container& container, const Config& config) {
  const Striping used = striping_in_use(container, config);
  return {{kFactor, text_unless_zero(used.servers)}, {kUnit, text_unless_zero(used.bytes)}};
}

}  // namespace bento::vol
