// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// SION structures as text, for the command-line tool and for the messages of failed tests. One
/// fact a line, names as in docs/formats/sion.md; not meant to be parsed.
#pragma once

#include <cstdint>
#include <string>

#include "core/sion/keyval.hpp"
#include "core/sion/reader.hpp"

namespace bento {

/// Tasks listed one by one; of a larger container the first ones and how many more there are.
inline constexpr std::uint64_t kDumpTasks = 64;

std::string dump(const Meta1& meta, std::uint64_t max_tasks = kDumpTasks);
std::string dump(const Meta2& meta, std::uint64_t max_tasks = kDumpTasks);
std::string dump(const SionMapping& mapping, std::uint64_t max_tasks = kDumpTasks);
std::string dump(const SionLayout& layout, std::uint64_t max_tasks = kDumpTasks);
std::string dump(const KeyvalRecord& record);
/// All of one physical file.
std::string dump(const SionFileInfo& file, std::uint64_t max_tasks = kDumpTasks);
/// All physical files and the mapping.
std::string dump(const SionReader& reader, std::uint64_t max_tasks = kDumpTasks);

/// "none", "inline", "meta", "hash", "unknown", or the number.
std::string to_string(KeyvalMode mode);

}  // namespace bento
