// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "vol/callbacks/file_optional.hpp"

#include <H5VLnative.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include "vol/file/file_context.hpp"
#include "vol/file/metadata_cache.hpp"
#include "vol/file/page_buffer.hpp"
#include "vol/file/swmr.hpp"

namespace bento::vol {

namespace {

/// Size of physical file 0 as far as it is written; what is still buffered is not in it.
Result<hsize_t> container_bytes(FileContext& context) {
  struct stat info{};
  if (::fstat(context.descriptor(), &info) != 0)
    return fail(os_error(errno, "fstat of", context.name()));
  return static_cast<hsize_t>(info.st_size);
}

}  // namespace

Status file_optional_body(Object* object, H5VL_optional_args_t* args, hid_t dxpl, void** req) {
  if (object->under == nullptr)
    return fail(Code::kInvalidArgument, "the file was closed by a failed H5Fclose");
  const auto context = args->op_type == H5VL_NATIVE_FILE_POST_OPEN ? nullptr : context_of(object);
  auto* const native = static_cast<H5VL_native_file_optional_args_t*>(args->args);
  if (context) {
    switch (args->op_type) {
      case H5VL_NATIVE_FILE_GET_SIZE: {
        BENTO_ASSIGN(*native->get_size.size, container_bytes(*context));
        return {};
      }
      case H5VL_NATIVE_FILE_GET_FILE_IMAGE:
        return fail(Code::kUnsupported,
                    fmt::format("'{}' is a container: its raw data is not in one HDF5 image; use "
                                "h5repack --dst-vol-name=native to make "
                                "an ordinary file of it",
                                context->name()));
      case H5VL_NATIVE_FILE_START_SWMR_WRITE:
        return start_swmr_write(object);
      case H5VL_NATIVE_FILE_GET_EOA:
      case H5VL_NATIVE_FILE_INCR_FILESIZE:
        return fail(Code::kUnsupported,
                    fmt::format("'{}' is a container, which has no single end of what is allocated",
                                context->name()));
      case H5VL_NATIVE_FILE_RESET_PAGE_BUFFERING_STATS:
      case H5VL_NATIVE_FILE_GET_PAGE_BUFFERING_STATS: {
        BENTO_ASSIGN(const bool answered, answer_page_buffering(object, *context, *args));
        if (answered) return {};
        break;
      }
      case H5VL_NATIVE_FILE_GET_MPI_ATOMICITY:
        if (!context->access().parallel) break;
        *native->get_mpi_atomicity.flag = context->container().atomic();
        return {};
      case H5VL_NATIVE_FILE_SET_MPI_ATOMICITY:
        if (!context->access().parallel) break;
        return context->container().set_atomic(native->set_mpi_atomicity.flag);
      case H5VL_NATIVE_FILE_SET_MDC_CONFIG:
        if (context->access().parallel && context->writable())
          return set_cache(object, without_eviction(*native->set_mdc_config.config));
        break;
      default:
        break;
    }
  }
  if (H5VLfile_optional(object->under, object->under_vol_id, args, dxpl, req) < 0)
    return fail(Code::kInternal, "file operation failed in the native connector");
  return {};
}

}  // namespace bento::vol
