// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// What to do with a container and its native view afterwards: build the view again (after a
/// rename, or where there was none); recover a container whose program died; or, when another
/// program changed the file through the view, drop that change or take it over. None is collective;
/// each locks the container.
#pragma once

#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/joined/joined_report.hpp"
#include "core/offline/recover.hpp"
#include "hdf5/view/dataset_view.hpp"

namespace bento::vol {

/// Of a container whose native view cannot be made.
enum class MissingView : std::uint8_t {
  kNoted,  ///< it is without one, and the notes say so
  kFails,  ///< that is an error, and what view there was stays
};

/// Builds the native view of what is committed. Returns what could not be shown. Errors: as
/// Container::open for writing (kPermission if another program changed the view),
/// build_native_view.
Result<std::vector<std::string>> rebuild_view(const std::string& path,
                                              const ViewSettings& settings = {},
                                              MissingView missing = MissingView::kNoted);

/// recover() with the native view: after a death, makes all that other readers see of what is
/// committed, and says what is lost. Errors: as recover().
Result<RecoveryReport> recover_container(const std::string& path,
                                         const ViewSettings& settings = {});

/// Finishes a container of the file driver whose processes were killed, and builds its native view;
/// `notes` gets what that does not show. Errors: those of repair_joined() and build_joined_view().
Result<JoinedReport> repair_streams(const std::string& path, std::vector<std::string>& notes,
                                    const ViewSettings& settings = {});

/// What the native view does not show, and why: one line for each dataset. Errors: kNotFound (no
/// native view).
Result<std::vector<std::string>> view_notes(const std::string& path);

/// Forgets what another program changed and shows the committed content again. Errors: kCorrupt if
/// that program overwrote data in place, which only take_over_view() can keep; nothing is changed
/// then.
Result<std::vector<std::string>> drop_edited_view(const std::string& path,
                                                  const ViewSettings& settings = {});

enum class TakeOver {
  kIfChanged,  ///< only if the metadata of the view are not as h5bento wrote them
  kAnyway,     ///< also then: values that were changed in place leave no trace in the metadata
};

/// Makes what stock HDF5 sees now the content of the container: a new container is written beside
/// the old one (same name with ".taken-over") and renamed over it. Layouts and filters are those of
/// the committed datasets of the same path; datasets that the view has no place for are copied from
/// what is committed, but for references in them, which become null; steps before are gone. Returns
/// what else was given up. Errors: kNotFound (no view), kInvalidArgument (not changed),
/// kUnsupported (there are newer commits than the view shows, or the view lacks something that
/// cannot be copied; not with kAnyway), kBusy (the name leads to another file meanwhile), kIo,
/// kInternal; the old container is then as it was.
Result<std::vector<std::string>> take_over_view(const std::string& path,
                                                TakeOver how = TakeOver::kIfChanged);

}  // namespace bento::vol
