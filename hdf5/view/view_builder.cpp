// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "hdf5/view/view_builder.hpp"

#include "hdf5/base/dropped_references.hpp"
#include "hdf5/base/library_state.hpp"
#include "hdf5/base/quiet_errors.hpp"
#include "hdf5/skeleton/skeleton_copy.hpp"
#include "hdf5/view/source_files.hpp"
#include "hdf5/view/symbol_table.hpp"
#include "hdf5/view/tree_copy.hpp"
#include "hdf5/view/whole_copies.hpp"

namespace bento::vol {

Result<NativeView> build_native_view(const ViewSettings& settings, ViewJob& job) {
  // A recovery is no call of the library, and filters are run below it.
  const LibraryState state;
  const QuietErrors quiet;
  const ErrorStackKeeper keep;
  BENTO_ASSIGN(SkeletonWithData skeleton,
               SkeletonWithData::open(job.path, job.skeleton, kSmallDatasetBytes));
  SourceFiles files(job);
  BENTO_ASSIGN(const hid_t main, files.create_main(skeleton.file()));
  DatasetViews datasets(settings, job, files, main);
  WholeCopies whole(job, skeleton, datasets.diverted(), files.main_view());
  TreeCopy tree(
      skeleton.file(), main,
      [&datasets](hid_t from, const H5O_token_t& token, hid_t type, const std::string& path) {
        return datasets.make(from, token, type, path);
      },
      [&files] { return files.failure(); }, kViewGroup);
  tree.set_copy_whole([&whole](const TreeCopy::HardLink& from, const TreeCopy::Destination& to,
                               hid_t lcpl) { return whole.copy(from, to, lcpl); });
  tree.set_left_out([&datasets](const std::string& path, const std::string& why) {
    datasets.note_left_out(path, why);
  });
  tree.set_make_group(
      [main](hid_t from, hid_t gcpl) { return make_group_as_before(main, from, gcpl); });
  Status copied = tree.run();
  // What the driver met says more than what came of it.
  BENTO_TRY(files.failure());
  BENTO_TRY(std::move(copied));

  NativeView view;
  view.notes = datasets.notes();
  if (tree.dropped_references() > 0)
    view.notes.push_back(about_dropped_references(tree.dropped_references()) +
                         ", and are null in the native view");
  BENTO_TRY(files.write_notes(view.notes));
  BENTO_ASSIGN(view.superblocks, files.finish([&whole] { return whole.link_all(); }));
  return view;
}

}  // namespace bento::vol
