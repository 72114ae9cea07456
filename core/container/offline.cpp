// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/container/offline.hpp"

#include <fmt/format.h>

#include "core/container/catalogue.hpp"
#include "core/container/segment_chain.hpp"
#include "core/index/segment_codec.hpp"

namespace bento {

Result<std::unique_ptr<OfflineContainer>> OfflineContainer::open(const std::string& path,
                                                                 const FileOpener& opener) {
  auto container = std::unique_ptr<OfflineContainer>(new OfflineContainer(path, opener));
  container->files_.resize(1);
  BENTO_ASSIGN(File* const first, container->file(0));
  BENTO_ASSIGN(const Probe seen, probe(*first));
  if (seen.kind != FileKind::kContainer)
    return fail(Code::kCorrupt, fmt::format("'{}' holds no valid h5bento root{}{}", path,
                                            seen.problem.empty() ? "" : ": ", seen.problem));
  if ((seen.root.flags & kRootProvisional) != 0)
    return fail(Code::kNotFound, fmt::format("'{}' holds no committed data", path));
  container->root_ = seen.root;
  BENTO_ASSIGN(container->plan_, ContainerPlan::of(seen.root.groups, seen.root.fs_block));
  container->files_.resize(container->plan_.files());

  Catalogue catalogue(*first, container->plan_.file(0));
  BENTO_ASSIGN(const auto fills, catalogue.read(seen.root.streams, "stream table"));
  BENTO_ASSIGN(container->fills_,
               decode_fills(fills, container->plan_.writers(), container->plan_.largest_chunk()));
  BENTO_ASSIGN(const auto chain, read_segments(catalogue, seen.root.segment, {}));
  for (const auto& bytes : chain) {
    auto segment = decode_segment(bytes);
    if (!segment) return fail(std::move(segment).error().with_context(path));
    auto added = container->index_.add(*segment);
    if (!added) return fail(std::move(added).error().with_context(path));
  }
  return container;
}

Result<File*> OfflineContainer::file(std::uint32_t index) {
  if (!files_[index]) {
    BENTO_ASSIGN(files_[index], opener_(physical_name(path_, index), OpenMode::kRead));
  }
  return files_[index].get();
}

Result<StreamPlace> OfflineContainer::place(std::uint32_t writer) {
  const std::uint32_t index = plan_.file_of(writer);
  BENTO_ASSIGN(File* const handle, file(index));
  return StreamPlace{handle, plan_.file(index), plan_.local_task(writer), writer};
}

}  // namespace bento
