// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// Our wrapper around a native object. The same wrapper serves containers and ordinary files:
/// whether an object belongs to a container is asked from its file number, because native code
/// follows external links and mounts without telling us.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include <hdf5.h>

#include "core/base/error.hpp"

namespace bento::vol {

class FileContext;
struct CreatedDataset;
struct DatasetState;
struct ObjectIdentity;

struct Object {
  void* under = nullptr;                 ///< the native connector's object
  hid_t under_vol_id = H5I_INVALID_HID;  ///< the native connector
  /// This wrapper has a reference on that id, because it is not native_connector(), which stays.
  bool holds_connector = false;
  H5I_type_t type = H5I_BADID;
  /// Datasets only; resolved on first use, since a wrapped dataset may belong to any file. See
  /// vol/file/dataset_state.hpp.
  std::shared_ptr<DatasetState> dataset;
  bool dataset_resolved = false;
  /// Of a diverted dataset that was created here, until it is resolved: what nobody need ask the
  /// native dataset for.
  std::shared_ptr<const CreatedDataset> created;
  /// The library's number for the open file that it lies in, once it was asked. Files, datasets and
  /// their attributes only: on a group another file may be mounted.
  mutable std::optional<unsigned long> fileno;
  /// Where it lies, known once a refresh has asked (vol/file/refresh.hpp).
  std::shared_ptr<const ObjectIdentity> identity;
  /// A refresh of another object has brought the file to a newer step since this one was opened or
  /// refreshed: at its place there may be another object now. Set by mark_outdated().
  bool outdated = false;
  /// Then: not only because the dataset became smaller.
  bool replaced = false;
};

/// All wrappers of files, groups, datasets and datatypes.
const std::set<Object*>& open_objects();
/// An open file by the library's number for it; null if only objects in it are open.
const Object* open_file_with(unsigned long fileno);
/// Sets `outdated`.
void mark_outdated(Object* object, bool outdated) noexcept;
/// Is any open object outdated?
bool any_outdated() noexcept;

/// Wraps a native object that was opened for the wrapper; takes a reference on the connector id.
/// Null in, null out. Without memory the object is closed, since nobody else could.
Object* wrap_new(void* under, hid_t under_vol_id, H5I_type_t type) noexcept;
/// The same for an object that somebody else closes if it cannot be wrapped.
Object* wrap_borrowed(void* under, hid_t under_vol_id, H5I_type_t type) noexcept;
/// Releases the wrapper and its reference, keeping the error stack. Does not touch the native
/// object.
void wrap_free(Object* object) noexcept;
/// Closes the native object by `close` (H5VLdataset_close or another), and frees the wrapper. The
/// library keeps the id of an object whose close failed, and closes it again, at exit if not
/// before. The native object is gone by then, and must not be touched: this only frees the wrapper.
herr_t close_object(Object* object, herr_t (*close)(void*, hid_t, hid_t, void**), hid_t dxpl,
                    void** req) noexcept;

/// The library's number for the open file that `object` lies in; nothing if it cannot be asked.
/// Leaves the error stack alone. Makes no communication.
std::optional<unsigned long> fileno_of(const Object* object);
/// The container that `object` lives in, null for an object of an ordinary file. Makes no
/// communication.
std::shared_ptr<FileContext> context_of(const Object* object);

/// Before an object is changed, or after it was created: is it in an ordinary file that the ranks
/// of a parallel program have open behind a link? Then the change is refused, here and by the next
/// flush or close of the container. Task-local. Errors: kPermission.
Status refuse_linked_change(const Object* object);

/// Before a container is flushed or closed: what the program has changed by path in such ordinary
/// files, and the library still keeps in memory, is refused now, so that the container's flush or
/// close says so. Task-local.
void notice_linked_changes();

/// Must be called once, on every rank, by each callback that HDF5 declares collective and that
/// changes the file: advances the collective count and mixes the operation into the hash that
/// commits compare. `what` names the operation ("attr_create"); `detail` its argument (a name), may
/// be null. No-op for ordinary files.
void note_collective(const Object* object, const char* what, const char* detail);
/// The same with a longer `detail`, which is asked for only where there are several ranks to
/// compare.
void note_collective(const Object* object, const char* what,
                     const std::function<std::string()>& detail);

}  // namespace bento::vol
