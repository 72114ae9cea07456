// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/sion/dump.hpp"

#include <algorithm>
#include <functional>
#include <iterator>

#include <fmt/format.h>

namespace bento {
namespace {

using Out = std::back_insert_iterator<std::string>;

std::string_view order_name(std::endian order) {
  return order == std::endian::big ? "big" : "little";
}

void each_task(std::string& text, std::uint64_t tasks, std::uint64_t max_tasks,
               const std::function<void(std::uint64_t)>& line) {
  const std::uint64_t shown = std::min(tasks, max_tasks);
  for (std::uint64_t task = 0; task < shown; ++task) line(task);
  if (shown < tasks) fmt::format_to(Out(text), "  ... and {} more\n", tasks - shown);
}

}  // namespace

std::string to_string(KeyvalMode mode) {
  switch (mode) {
    case KeyvalMode::kNone:
      return "none";
    case KeyvalMode::kInline:
      return "inline";
    case KeyvalMode::kMeta:
      return "meta";
    case KeyvalMode::kHash:
      return "hash";
    case KeyvalMode::kUnknown:
      return "unknown";
  }
  return fmt::format("{}", static_cast<std::uint32_t>(mode));
}

std::string dump(const Meta1& meta, std::uint64_t max_tasks) {
  std::string text = "META1\n";
  Out out(text);
  const auto line = [&](std::string_view name, const std::string& value) {
    fmt::format_to(out, "  {:<18} {}\n", name, value);
  };
  line("byte order",
       fmt::format("{} (data: {})", order_name(meta.order), order_name(meta.data_order)));
  line("library", fmt::format("{}.{}p{}", meta.library_version / 1000, meta.library_version % 1000,
                              meta.patch_level));
  line("format version", fmt::format("{}", meta.format_version));
  line("fsblksize", fmt::format("{}", meta.fsblksize));
  line("ntasks", fmt::format("{}", meta.tasks()));
  line("nfiles", fmt::format("{}", meta.files));
  line("filenumber", fmt::format("{}{}", meta.file_number, meta.is_master() ? " (master)" : ""));
  line("flag1", fmt::format("{:#x} (key-value: {})", meta.flag1, to_string(meta.keyval())));
  line("flag2", fmt::format("{:#x}", meta.flag2));
  line("prefix", meta.prefix);
  line("maxchunks", fmt::format("{}", meta.max_blocks));
  line("start_of_varheader",
       meta.closed() ? fmt::format("{}", meta.meta2_address) : "0 (not closed)");
  each_task(text, meta.tasks(), max_tasks, [&](std::uint64_t task) {
    fmt::format_to(Out(text), "  task {}: globalrank {}, chunksize {}\n", task,
                   meta.global_ranks[task], meta.chunk_bytes[task]);
  });
  return text;
}

std::string dump(const Meta2& meta, std::uint64_t max_tasks) {
  constexpr std::uint64_t kMaxBlocks = 32;
  std::string text = fmt::format("META2\n  {:<18} {}\n", "largest count", meta.max_blocks());
  each_task(text, meta.tasks(), max_tasks, [&](std::uint64_t task) {
    const std::uint64_t blocks = meta.blocks(task);
    fmt::format_to(Out(text), "  task {}: {} block{}, {} bytes:", task, blocks,
                   blocks == 1 ? "" : "s", meta.stream_bytes(task));
    for (std::uint64_t block = 0; block < std::min(blocks, kMaxBlocks); ++block)
      fmt::format_to(Out(text), " {}", meta.size(task, block));
    text += blocks > kMaxBlocks ? " ...\n" : "\n";
  });
  return text;
}

std::string dump(const SionMapping& mapping, std::uint64_t max_tasks) {
  std::string text = fmt::format("mapping\n  {:<18} {}\n", "mapping_size", mapping.size());
  each_task(text, mapping.size(), max_tasks, [&](std::uint64_t task) {
    fmt::format_to(Out(text), "  global task {}: file {}, task {}\n", task, mapping[task].file,
                   mapping[task].task);
  });
  return text;
}

std::string dump(const SionLayout& layout, std::uint64_t max_tasks) {
  std::string text = fmt::format("layout\n  {:<18} {}\n  {:<18} {}\n", "start of data",
                                 layout.data_start(), "globalskip", layout.block_bytes());
  each_task(text, layout.tasks(), max_tasks, [&](std::uint64_t task) {
    const auto address = layout.chunk_address(task, 0);
    fmt::format_to(Out(text), "  task {}: at {}, {} bytes\n", task, address ? *address : 0,
                   layout.chunk_bytes(task));
  });
  return text;
}

std::string dump(const KeyvalRecord& record) {
  return fmt::format("key {}: {} bytes at {}", record.key, record.bytes, record.begin);
}

std::string dump(const SionFileInfo& file, std::uint64_t max_tasks) {
  return fmt::format("file of {} bytes\n{}{}{}", file.file_bytes, dump(file.meta1, max_tasks),
                     dump(file.layout, max_tasks), dump(file.meta2, max_tasks));
}

std::string dump(const SionReader& reader, std::uint64_t max_tasks) {
  std::string text;
  for (std::uint32_t index = 0; index < reader.files(); ++index)
    text += fmt::format("physical file {}: {}", index, dump(reader.file(index), max_tasks));
  return text + dump(reader.mapping(), max_tasks);
}

}  // namespace bento
