// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "hdf5/base/chunk_arguments.hpp"

#include <cstring>
#include <type_traits>

#include "hdf5/base/library_version.hpp"

namespace bento::vol {

namespace {

#if H5_VERSION_GE(2, 0, 0)
using ReadOfHeaders = ChunkRead20;
using WriteOfHeaders = ChunkWrite20;
#else
using ReadOfHeaders = ChunkRead14;
using WriteOfHeaders = ChunkWrite14;
#endif
static_assert(sizeof(ReadOfHeaders) == sizeof(H5VL_native_dataset_chunk_read_t));
static_assert(offsetof(ReadOfHeaders, buf) == offsetof(H5VL_native_dataset_chunk_read_t, buf));
static_assert(sizeof(WriteOfHeaders) == sizeof(H5VL_native_dataset_chunk_write_t));
static_assert(offsetof(WriteOfHeaders, buf) == offsetof(H5VL_native_dataset_chunk_write_t, buf));
static_assert(std::is_same_v<decltype(WriteOfHeaders::size),
                             decltype(H5VL_native_dataset_chunk_write_t::size)>);
// The answer lies in the same place in both.
static_assert(offsetof(ChunkRead14, filters) == offsetof(ChunkRead20, filters));

}  // namespace

ChunkRead20 chunk_read_of(const void* args) {
  if (is_hdf5_2()) return *static_cast<const ChunkRead20*>(args);
  const auto& read = *static_cast<const ChunkRead14*>(args);
  return {read.offset, read.filters, read.buf, nullptr};
}

void answer_chunk_read(void* args, std::span<const std::byte> stored, std::uint32_t filters) {
  const ChunkRead20 read = chunk_read_of(args);
  if (read.buf != nullptr && (read.buf_size == nullptr || *read.buf_size >= stored.size()))
    std::memcpy(read.buf, stored.data(), stored.size());
  if (read.buf_size != nullptr) *read.buf_size = stored.size();
  static_cast<ChunkRead14*>(args)->filters = filters;
}

ChunkWrite20 chunk_write_of(const void* args) {
  if (is_hdf5_2()) return *static_cast<const ChunkWrite20*>(args);
  const auto& write = *static_cast<const ChunkWrite14*>(args);
  return {write.offset, write.filters, write.size, write.buf};
}

ChunkArguments ChunkArguments::read(const hsize_t* offset, void* buf) {
  ChunkArguments made;
  if (is_hdf5_2())
    made.room_.read20 = {offset, 0, buf, nullptr};
  else
    made.room_.read14 = {offset, 0, buf};
  return made;
}

ChunkArguments ChunkArguments::write(const hsize_t* offset, std::uint32_t filters, std::size_t size,
                                     const void* buf) {
  ChunkArguments made;
  if (is_hdf5_2())
    made.room_.write20 = {offset, filters, size, buf};
  else
    made.room_.write14 = {offset, filters, static_cast<std::uint32_t>(size), buf};
  return made;
}

std::uint32_t ChunkArguments::filters() const {
  return is_hdf5_2() ? room_.read20.filters : room_.read14.filters;
}

}  // namespace bento::vol
