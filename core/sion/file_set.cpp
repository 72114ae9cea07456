// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/sion/file_set.hpp"

#include <algorithm>

#include "core/sion/constants.hpp"
#include "core/sion/layout.hpp"

namespace bento {

Result<File*> SionFileSet::get(std::uint32_t index) {
  const auto found = std::find_if(slots_.begin(), slots_.end(),
                                  [&](const Slot& slot) { return slot.index == index; });
  if (found == slots_.end()) return open(index, mode_);
  std::rotate(found, found + 1, slots_.end());
  return slots_.back().file.get();
}

Result<File*> SionFileSet::create(std::uint32_t index) {
  return open(index, OpenMode::kCreate);
}

Result<File*> SionFileSet::open(std::uint32_t index, OpenMode mode) {
  if (slots_.size() >= kMaxSionOpenFiles) {
    Slot oldest = std::move(slots_.front());
    slots_.erase(slots_.begin());
    BENTO_TRY(oldest.file->close());
  }
  BENTO_ASSIGN(auto file, opener_(sion_file_name(name_, index), mode));
  slots_.push_back({index, std::move(file)});
  return slots_.back().file.get();
}

Status SionFileSet::close() {
  Status result;
  for (auto& slot : slots_) {
    Status closed = slot.file->close();
    if (result && !closed) result = std::move(closed);
  }
  slots_.clear();
  return result;
}

}  // namespace bento
