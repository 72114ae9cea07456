// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "tools/assembler.hpp"

#include <memory>
#include <utility>

#include "core/comm/communicator.hpp"
#include "hdf5/native/native_file.hpp"
#include "tools/hdf5/container_name.hpp"
#include "tools/hdf5/start.hpp"
#include "vol/library/copy_container.hpp"

namespace bento::tools {

namespace {

using transfer::Assembly;

Status make_native(const Assembly& assembly) {
  ContainerOptions how;
  how.opener = assembly.opener;
  BENTO_ASSIGN(auto container,
               Container::open(assembly.source, false, how, make_self_communicator()));
  BENTO_ASSIGN(const auto target, assembly.opener(assembly.target, OpenMode::kReadWrite));
  // The bytes of its data are known only when this is over.
  assembly.progress(0, 1);
  BENTO_ASSIGN(const auto made, vol::NativeFile::assemble(std::move(container), target.get()));
  const std::uint64_t total = made->data_bytes();
  std::uint64_t done = 0;
  BENTO_TRY(made->write_data([&](std::uint64_t bytes) {
    done += bytes;
    assembly.progress(done, total);
  }));
  return target->close();
}

Status make_one_file(const Assembly& assembly) {
  BENTO_ASSIGN(const std::uint64_t total, vol::bytes_to_copy(assembly.source));
  std::uint64_t done = 0;
  vol::CopySettings settings;
  settings.opener = assembly.opener;
  settings.progress = [&](std::uint64_t bytes) {
    done += bytes;
    assembly.progress(done, total);
  };
  BENTO_ASSIGN(const auto report,
               vol::copy_into_container(assembly.source, assembly.target, settings));
  (void)report;
  BENTO_ASSIGN(const auto target, assembly.opener(assembly.target, OpenMode::kReadWrite));
  BENTO_TRY(call_container(*target, assembly.called));
  return target->close();
}

Status assemble(const Assembly& assembly) {
  static const Status kStarted = start_hdf5();
  BENTO_TRY(kStarted);
  BENTO_ASSIGN(const Survey survey, Survey::open(assembly.source));
  BENTO_TRY(check_edited(survey));
  return assembly.arrive == transfer::Arrive::kNative ? make_native(assembly)
                                                      : make_one_file(assembly);
}

}  // namespace

transfer::Assembler assembler() {
  return assemble;
}

}  // namespace bento::tools
