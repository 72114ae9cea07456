// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "hdf5/native/source_use.hpp"

#include <algorithm>
#include <limits>

namespace bento::vol {

namespace {
constexpr std::size_t kMostSteps = 512;
}  // namespace

void SourceUse::used_below(const Record& record, std::uint64_t address) {
  const std::uint32_t writer = record.where.task;
  if (writer >= plan_->writers()) return;  // reading it will fail
  const std::uint32_t index = plan_->file_of(writer);
  const std::uint64_t at =
      plan_->file(index).address(plan_->local_task(writer), record.where.offset);
  const std::uint64_t begin = at - std::min<std::uint64_t>(at, record.header_distance);
  File& file = files_[index];
  while (begin >> file.shift >= kMostSteps) {
    for (std::size_t step = 0; step < file.used.size(); ++step) {
      const std::uint64_t used = file.used[step];
      if (step % 2 == 0)
        file.used[step / 2] = used;
      else
        file.used[step / 2] = std::max(file.used[step / 2], used);
    }
    file.used.resize((file.used.size() + 1) / 2);
    ++file.shift;
  }
  const auto step = static_cast<std::size_t>(begin >> file.shift);
  if (step >= file.used.size()) file.used.resize(step + 1);
  file.used[step] = std::max(file.used[step], address);
}

std::vector<std::uint64_t> SourceUse::free_below(std::uint64_t address) const {
  std::vector<std::uint64_t> all;
  all.reserve(files_.size());
  for (const File& file : files_) {
    const auto used =
        std::ranges::find_if(file.used, [&](std::uint64_t until) { return until > address; });
    all.push_back(used == file.used.end()
                      ? std::numeric_limits<std::uint64_t>::max()
                      : static_cast<std::uint64_t>(used - file.used.begin()) << file.shift);
  }
  return all;
}

}  // namespace bento::vol
