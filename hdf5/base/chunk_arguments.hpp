// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Arguments of the native connector's direct chunk calls (H5VL_NATIVE_DATASET_CHUNK_READ and
/// _WRITE). HDF5 2.0 made them longer while the version of the connector interface stayed 3: which
/// layout it is depends on the library that calls, and not on the headers this was compiled with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <hdf5.h>

namespace bento::vol {

struct ChunkRead14 {
  const hsize_t* offset;
  std::uint32_t filters;  ///< the answer
  void* buf;
};
struct ChunkRead20 {
  const hsize_t* offset;
  std::uint32_t filters;
  void* buf;              ///< may be null
  std::size_t* buf_size;  ///< may be null. In: bytes of buf, which is left alone if they do not
                          ///< suffice; out: bytes of the chunk
};
struct ChunkWrite14 {
  const hsize_t* offset;
  std::uint32_t filters;
  std::uint32_t size;
  const void* buf;
};
struct ChunkWrite20 {
  const hsize_t* offset;
  std::uint32_t filters;
  std::size_t size;
  const void* buf;
};

/// What a caller of H5Dread_chunk asks for. Reads `args`, the argument of the optional call.
ChunkRead20 chunk_read_of(const void* args);
/// Gives the caller of H5Dread_chunk the chunk's bytes and which filters it has not passed. As
/// natively: who says how much room there is, and has too little, is told the size alone.
void answer_chunk_read(void* args, std::span<const std::byte> stored, std::uint32_t filters);
ChunkWrite20 chunk_write_of(const void* args);

/// Arguments for a call of our own, in the layout of the library.
class ChunkArguments {
 public:
  static ChunkArguments read(const hsize_t* offset, void* buf);
  static ChunkArguments write(const hsize_t* offset, std::uint32_t filters, std::size_t size,
                              const void* buf);
  [[nodiscard]] void* get() { return &room_; }
  /// After a read.
  [[nodiscard]] std::uint32_t filters() const;

 private:
  union Room {
    H5VL_native_dataset_optional_args_t all;  // the library may copy as much as that
    ChunkRead14 read14;
    ChunkRead20 read20;
    ChunkWrite14 write14;
    ChunkWrite20 write20;
  };
  Room room_{};
};

}  // namespace bento::vol
