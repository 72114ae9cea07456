// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// A stand-in for the connector's file context: its container is a file of four magic bytes,
/// padding and the skeleton's image.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "hdf5/skeleton/host.hpp"

namespace bento::vol::test {

class FakeHost final : public SkeletonHost {
 public:
  static constexpr std::size_t kImageOffset = 4096;

  /// Creates an empty container file.
  static std::shared_ptr<FakeHost> create(const std::string& name);
  /// Opens an existing one.
  static std::shared_ptr<FakeHost> open(const std::string& name, bool writable);
  ~FakeHost() override;

  [[nodiscard]] const std::string& name() const override { return name_; }
  [[nodiscard]] FileIdentity identity() const override;
  [[nodiscard]] PagedImage& image() override { return image_; }
  [[nodiscard]] bool writable() const override { return writable_; }
  [[nodiscard]] int descriptor() const override { return descriptor_; }
  /// Stores the image, unless `failure` says that it cannot.
  Status finalise() override;

  Status failure;
  int finalised = 0;

 private:
  FakeHost(std::string name, bool writable, int open_flags);

  std::string name_;
  bool writable_;
  int descriptor_;
  PagedImage image_;
};

/// A folder that is the working directory while it lives, removed at the end.
class WorkFolder {
 public:
  WorkFolder();
  ~WorkFolder();
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;

 private:
  std::filesystem::path before_;
  std::filesystem::path folder_;
};

}  // namespace bento::vol::test
