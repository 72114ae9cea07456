// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// HDF5's interface for a single writer and multiple readers (SWMR), on containers. What it is for,
/// a container does anyway: readers see whole commits, and a killed writer leaves the last one. So
/// the calls get the meaning that programs know: a flush of an object is a commit, a read never
/// fails because the writer went on. The library's own SWMR writing, which orders its writes and
/// marks the file, is not used: the skeleton of a writer is opened without it.
#pragma once

#include <cstddef>

#include <hdf5.h>

#include "core/base/error.hpp"
#include "hdf5/base/handle.hpp"
#include "vol/file/file_context.hpp"
#include "vol/file/object.hpp"

namespace bento::vol {

/// The flags with which the library opens the skeleton of a file that a program opens with `flags`.
inline unsigned skeleton_flags(unsigned flags) {
  return flags & ~static_cast<unsigned>(H5F_ACC_SWMR_WRITE);
}
/// How a file that is opened with `flags` is used.
inline Swmr swmr_of(unsigned flags) {
  if ((flags & H5F_ACC_SWMR_WRITE) != 0) return Swmr::kWriter;
  return (flags & H5F_ACC_SWMR_READ) != 0 ? Swmr::kReader : Swmr::kNone;
}

/// Are the SWMR flags among `flags` possible for a container? Not in a file that is opened with
/// mpio, as natively. Task-local, equal on all ranks. Errors: kUnsupported.
Status check_swmr(const char* name, unsigned flags, const UserAccess& access);
/// The same for one that this process has open already: `flags` must not want more than that open.
/// Errors: kUnsupported, kInvalidArgument, in HDF5's words.
Status check_swmr_again(const char* name, unsigned flags, const FileContext& open);
/// Makes the list of a new skeleton ask for the format in which natively a file is created for SWMR
/// writing. Errors: kInternal; kInvalidArgument if the list excludes it.
Status ask_for_swmr_format(hid_t fapl);
/// A file that was opened for SWMR writing: is its format new enough, as natively it must be?
/// Errors: kInvalidArgument, in HDF5's words.
Status check_swmr_format(const Object* file);

/// The container is open for SWMR writing from now on: its steps stay for some time, so that a
/// reader that reads as of one is not overtaken.
void begin_swmr_writing(FileContext& file);

/// H5Fstart_swmr_write. Commits, so that readers find what was written before. Errors:
/// kInvalidArgument for what HDF5 refuses, in its words; kUnsupported in a file that is open with
/// mpio; those of flush().
Status start_swmr_write(Object* file);

/// What a flush of an object (H5Dflush, H5Oflush and the like) begins with: sources of virtual
/// datasets are closed, and so committed, and in a container that is open for SWMR writing all that
/// was written is committed, for readers to find. Errors: kUnsupported in a file that is open with
/// mpio, in HDF5's words; those of flush().
Status begin_object_flush(Object* object);
/// The same for callbacks that hand their call on: false with a record on the error stack.
bool begun_object_flush(Object* object) noexcept;

/// Before a read that failed is tried again: did it fail because the writer has left the step of a
/// SWMR reader? Then the reader's file comes to the newest step, as by a refresh of some object,
/// and the answer is true. Keeps the error stack unless it is. Task-local.
bool follow_writer(Object* dataset);

/// Does `read`, again if the SWMR writer of the file of one of `datasets` went on meanwhile, so
/// that all of it is of one step. Errors: those of `read`.
template <class Read>
Status read_beside_writer(std::size_t count, void* const datasets[], const Read& read) {
  constexpr int kTries = 100;
  for (int tries = 1;; ++tries) {
    Status done = read();
    if (done || tries == kTries) return done;
    bool followed = false;
    for (std::size_t i = 0; i < count; ++i)
      followed = follow_writer(static_cast<Object*>(datasets[i])) || followed;
    if (!followed) return done;
  }
}

}  // namespace bento::vol
