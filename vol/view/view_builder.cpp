// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "vol/view/view_builder.hpp"

#include <atomic>

#include <fmt/format.h>

#include "vol/object.hpp"
#include "vol/skeleton/driver.hpp"
#include "vol/view/source_files.hpp"
#include "vol/view/tree_copy.hpp"

namespace bento::vol {

namespace {

/// The committed skeleton, opened a second time and only for reading.
class SkeletonCopy final : public SkeletonHost {
 public:
  SkeletonCopy(const std::string& path, const PagedImage& image)
      : name_("skeleton of " + path), image_(image) {
    static std::atomic<std::uint64_t> next{1};
    identity_ = {~std::uint64_t{0}, next++};  // no file of the system has this device
  }

  [[nodiscard]] const std::string& name() const override { return name_; }
  [[nodiscard]] FileIdentity identity() const override { return identity_; }
  [[nodiscard]] PagedImage& image() override { return image_; }
  [[nodiscard]] bool writable() const override { return false; }
  [[nodiscard]] int descriptor() const override { return -1; }
  Status finalise() override { return {}; }

 private:
  std::string name_;
  PagedImage image_;
  FileIdentity identity_;
};

Result<FileHandle> open_skeleton(const std::shared_ptr<SkeletonCopy>& host) {
  const PlistHandle list(H5Pcreate(H5P_FILE_ACCESS));
  if (H5Pset_vol(list.get(), native_connector(), nullptr) < 0 ||
      set_fapl_skeleton(list.get(), host) < 0)
    return fail(Code::kInternal, "native view: the skeleton's driver is refused");
  FileHandle file(H5Fopen(host->name().c_str(), H5F_ACC_RDONLY, list.get()));
  if (!file.valid()) return fail(Code::kInternal, "native view: the skeleton cannot be opened");
  return file;
}

/// The library prints error stacks by itself when one of our nested calls fails; what failed is
/// reported by us.
class QuietErrors {
 public:
  QuietErrors() {
    H5Eget_auto2(H5E_DEFAULT, &function_, &data_);
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  }
  ~QuietErrors() { H5Eset_auto2(H5E_DEFAULT, function_, data_); }
  QuietErrors(const QuietErrors&) = delete;
  QuietErrors& operator=(const QuietErrors&) = delete;

 private:
  H5E_auto2_t function_ = nullptr;
  void* data_ = nullptr;
};

}  // namespace

Result<NativeView> build_native_view(const ViewSettings& settings, ViewJob& job) {
  const QuietErrors quiet;
  const ErrorStackKeeper keep;
  const auto host = std::make_shared<SkeletonCopy>(job.path, job.skeleton);
  BENTO_ASSIGN(const FileHandle skeleton, open_skeleton(host));
  SourceFiles files(job);
  BENTO_ASSIGN(const hid_t main, files.create_main(skeleton.get()));
  DatasetViews datasets(settings, job, files, main);
  TreeCopy tree(
      skeleton.get(), main,
      [&datasets](hid_t from, const H5O_token_t& token, hid_t type, const std::string& path) {
        return datasets.make(from, token, type, path);
      },
      kViewGroup);
  Status copied = tree.run();
  // What the driver met says more than what the library made of it.
  if (!copied && !files.main_view().failure) copied = files.main_view().failure;
  BENTO_TRY(std::move(copied));

  NativeView view;
  view.notes = datasets.notes();
  if (tree.dropped_references() > 0)
    view.notes.push_back(
        fmt::format("{} references lead to objects without a path and are null in the native view",
                    tree.dropped_references()));
  BENTO_TRY(files.write_notes(view.notes));
  BENTO_ASSIGN(view.superblocks, files.finish());
  return view;
}

}  // namespace bento::vol
