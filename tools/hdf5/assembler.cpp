// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "tools/assembler.hpp"

#include <cstdio>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "core/comm/communicator.hpp"
#include "core/layout/names.hpp"
#include "hdf5/native/native_file.hpp"
#include "tools/hdf5/check_edited.hpp"
#include "tools/hdf5/start.hpp"
#include "vol/library/copy_container.hpp"
#include "vol/library/edited_view.hpp"

namespace bento::tools {

namespace {

using transfer::Assembly;

Status make_native(const Assembly& assembly) {
  ContainerOptions how;
  how.opener = assembly.opener;
  BENTO_ASSIGN(auto container,
               Container::open(assembly.source, false, how, make_self_communicator()));
  BENTO_ASSIGN(const auto target, assembly.opener(assembly.target, OpenMode::kReadWrite));
  BENTO_ASSIGN(const auto made,
               vol::NativeFile::assemble(std::move(container), target.get(), assembly.journal));
  transfer::AssemblyProgress& progress = *assembly.progress;
  progress.total = made->data_bytes();
  progress.source_done = [&made] { return made->source_done(); };
  Status written = made->write_data([&progress](std::uint64_t bytes) { progress.done += bytes; });
  progress.source_done = {};
  BENTO_TRY(std::move(written));
  return target->close();
}

Status make_one_file(const Assembly& assembly) {
  transfer::AssemblyProgress& progress = *assembly.progress;
  BENTO_ASSIGN(progress.total, vol::bytes_to_copy(assembly.source));
  vol::CopySettings settings;
  settings.opener = assembly.opener;
  settings.progress = [&progress](std::uint64_t bytes) { progress.done += bytes; };
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

Status make_view(const std::string& path, const transfer::ViewWish& wish) {
  static const Status kStarted = start_hdf5();
  BENTO_TRY(kStarted);
  vol::ViewSettings settings;
  if (wish.maps != 0) settings.max_mappings = wish.maps;
  settings.copy_bytes = wish.copy_bytes;
  BENTO_ASSIGN(const auto notes, vol::rebuild_view(path, settings));
  for (const auto& note : notes) fmt::print(stderr, "h5bento transfer: '{}': {}\n", path, note);
  return {};
}

}  // namespace

transfer::Assembler assembler() {
  return assemble;
}

transfer::ViewMaker view_maker() {
  return make_view;
}

}  // namespace bento::tools
