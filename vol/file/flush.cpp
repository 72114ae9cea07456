// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "vol/file/flush.hpp"

#include <memory>
#include <vector>

#include <fmt/format.h>

#include "hdf5/base/error_bridge.hpp"
#include "hdf5/base/handle.hpp"
#include "vol/file/file_context.hpp"
#include "vol/file/metadata_cache.hpp"
#include "vol/file/mounts.hpp"
#include "vol/file/virtual_sources.hpp"

namespace bento::vol {

namespace {

/// The library writes what it has kept of the file to the skeleton.
Status flush_native(const Object* object, H5F_scope_t scope) {
  H5VL_file_specific_args_t args{};
  args.op_type = H5VL_FILE_FLUSH;
  args.args.flush.obj_type = object->type;
  args.args.flush.scope = scope;
  if (H5VLfile_specific(object->under, object->under_vol_id, &args, H5P_DATASET_XFER_DEFAULT,
                        nullptr) < 0)
    return fail(Code::kInternal, "flush failed in the native connector");
  return {};
}

/// If it fails, that costs memory; who left here would let the other ranks wait.
void shrink_cache(FileContext& file) {
  if (Object* const handle = open_file_of(file)) (void)evict_flushed(handle);
  file.unflushed().flushed();
}

}  // namespace

Status flush(Object* object, H5F_scope_t scope) {
  Status flushed = let_go_of_sources();
  const auto context = context_of(object);
  notice_linked_changes();
  BENTO_TRY(flush_native(object, scope));
  std::vector<std::shared_ptr<FileContext>> files;
  if (scope == H5F_SCOPE_GLOBAL) files = mounted_with(object);
  if (context) files.insert(files.begin(), context);
  for (const auto& file : files) {
    if (!file->writable()) continue;
    shrink_cache(*file);
    file->note_collective("flush", {});
    file->timer().begin_anew();
    Status done = file->commit();
    if (done) done = file->note_flushed();
    if (done) done = file->take_refused_change();
    if (flushed) flushed = std::move(done);
  }
  return flushed;
}

Status flush_if_due(Object* object) {
  if (!CommitTimer::any() || object == nullptr || object->under == nullptr) return {};
  const auto context = context_of(object);
  if (!context || !context->timer().due() || context->container().inherited()) return {};
  const ErrorStackKeeper keep;
  auto flushed = flush(object, H5F_SCOPE_LOCAL);
  if (flushed) return {};
  return fail(std::move(flushed).error().with_context(fmt::format(
      "'{}': the commit that commit={:g} asks for", context->name(), context->config().commit)));
}

Status shrink_cache_if_due(Object* object) {
  if (!UnflushedChanges::any() || object == nullptr || object->under == nullptr) return {};
  const auto context = context_of(object);
  if (!context || !context->unflushed().due() || context->container().inherited()) return {};
  const ErrorStackKeeper keep;
  BENTO_TRY(flush_native(object, H5F_SCOPE_LOCAL));
  shrink_cache(*context);
  return {};
}

}  // namespace bento::vol
