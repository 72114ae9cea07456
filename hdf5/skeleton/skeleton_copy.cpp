// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "hdf5/skeleton/skeleton_copy.hpp"

#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include "core/bytes/byte_writer.hpp"
#include "hdf5/base/cache_settings.hpp"
#include "hdf5/base/native_connector.hpp"
#include "hdf5/base/relaxed_checks.hpp"
#include "hdf5/skeleton/driver.hpp"
#include "hdf5/skeleton/open_files.hpp"

namespace bento::vol {

namespace {

class SkeletonCopy final : public SkeletonHost {
 public:
  SkeletonCopy(const std::string& path, PagedImage image)
      : name_("skeleton of " + path), image_(std::move(image)) {
    static std::atomic<std::uint64_t> next{1};
    identity_ = {~std::uint64_t{0}, next++, 0};  // no file of the system has this device
  }

  [[nodiscard]] const std::string& name() const override { return name_; }
  [[nodiscard]] FileIdentity identity() const override { return identity_; }
  [[nodiscard]] PagedImage& image() override { return image_; }
  [[nodiscard]] bool writable() const override { return false; }
  [[nodiscard]] int descriptor() const override { return -1; }
  [[nodiscard]] bool reaches_containers() const override { return false; }
  Status finalise() override { return {}; }

 private:
  std::string name_;
  PagedImage image_;
  FileIdentity identity_;
};

Result<FileHandle> open_host(const std::shared_ptr<SkeletonHost>& host) {
  const PlistHandle list(H5Pcreate(H5P_FILE_ACCESS));
  if (H5Pset_vol(list.get(), native_connector(), nullptr) < 0 ||
      set_fapl_skeleton(list.get(), host) < 0)
    return fail(Code::kInternal, "the skeleton's driver is refused");
  BENTO_TRY(keep_cache_small(list.get()));
  BENTO_TRY(relax_integrity_checks(list.get()));
  FileHandle file(H5Fopen(host->name().c_str(), H5F_ACC_RDONLY, list.get()));
  if (!file.valid()) return fail(Code::kInternal, "the skeleton cannot be opened");
  return file;
}

}  // namespace

Result<FileHandle> open_skeleton_copy(const std::string& path, const PagedImage& image) {
  return open_host(std::make_shared<SkeletonCopy>(path, image));
}

Result<SkeletonWithData> SkeletonWithData::open(const std::string& path, const PagedImage& image,
                                                std::uint64_t most) {
  SkeletonWithData opened;
  std::vector<std::byte> bytes;
  bytes.reserve(static_cast<std::size_t>(image.size() + most));  // it is not copied once more
  bytes.assign(image.bytes().begin(), image.bytes().end());
  opened.host_ = std::make_shared<SkeletonCopy>(path, PagedImage(std::move(bytes)));
  opened.data_at_ = image.size();
  BENTO_ASSIGN(opened.file_, open_host(opened.host_));
  opened.host_->image().resize(image.size() + most);
  skeleton_changed(*opened.host_);  // so that the library may read there
  return opened;
}

std::span<const std::byte> SkeletonWithData::bytes() const {
  return host_->image().bytes().first(static_cast<std::size_t>(data_at_));
}

void SkeletonWithData::give(std::uint64_t address_at, std::span<const std::byte> data) {
  PagedImage& image = host_->image();
  image.write(data_at_, data);
  ByteWriter address;
  address.u64(data_at_);
  image.write(address_at, address.view());
}

}  // namespace bento::vol
