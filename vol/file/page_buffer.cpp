// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "vol/file/page_buffer.hpp"

#include <algorithm>

#include "hdf5/base/handle.hpp"

namespace bento::vol {

PageBuffer page_buffer_of(hid_t fapl) {
  PageBuffer buffer;
  if (H5Pget_page_buffer_size(fapl, &buffer.bytes, &buffer.least_metadata, &buffer.least_raw) < 0)
    return {};
  return buffer;
}

// As the library does it: only files that are stored in pages have one, of whole pages.
Result<std::optional<PageBuffer>> unused_page_buffer(const Object* file,
                                                     const FileContext& context) {
  PageBuffer buffer = context.access().page_buffer;
  if (context.writable() || buffer.bytes == 0) return std::nullopt;
  H5VL_file_get_args_t args{};
  args.op_type = H5VL_FILE_GET_FCPL;
  if (H5VLfile_get(file->under, file->under_vol_id, &args, H5P_DATASET_XFER_DEFAULT, nullptr) < 0)
    return fail(Code::kInternal, "the file's creation list cannot be asked for");
  const PlistHandle list(args.args.get_fcpl.fcpl_id);
  H5F_fspace_strategy_t strategy = H5F_FSPACE_STRATEGY_FSM_AGGR;
  hbool_t persist = 0;
  hsize_t threshold = 0;
  hsize_t page = 0;
  if (H5Pget_file_space_strategy(list.get(), &strategy, &persist, &threshold) < 0 ||
      H5Pget_file_space_page_size(list.get(), &page) < 0)
    return fail(Code::kInternal, "the file's pages cannot be asked for");
  if (strategy != H5F_FSPACE_STRATEGY_PAGE || page == 0) return std::nullopt;
  const std::size_t page_bytes = page;
  buffer.bytes = std::max<std::size_t>(buffer.bytes / page_bytes, 1) * page_bytes;
  return buffer;
}

Status show_page_buffer(hid_t fapl, const Object* file, const FileContext& context) {
  BENTO_ASSIGN(const auto buffer, unused_page_buffer(file, context));
  if (!buffer) return {};
  if (H5Pset_page_buffer_size(fapl, buffer->bytes, buffer->least_metadata, buffer->least_raw) < 0)
    return fail(Code::kInternal, "the file's access list cannot show its page buffer");
  return {};
}

Result<bool> answer_page_buffering(const Object* file, const FileContext& context,
                                   H5VL_optional_args_t& args) {
  BENTO_ASSIGN(const auto buffer, unused_page_buffer(file, context));
  if (!buffer) return false;
  if (args.op_type == H5VL_NATIVE_FILE_RESET_PAGE_BUFFERING_STATS) return true;
  auto& counts =
      static_cast<H5VL_native_file_optional_args_t*>(args.args)->get_page_buffering_stats;
  for (unsigned* const pair :
       {counts.accesses, counts.hits, counts.misses, counts.evictions, counts.bypasses})
    std::fill_n(pair, 2, 0U);  // of metadata and of raw data
  return true;
}

}  // namespace bento::vol
