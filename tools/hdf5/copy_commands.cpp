// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// `h5bento defrag IN [OUT]` and `h5bento import IN OUT`: a file copied into a new container, each
/// dataset in one piece.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>

#include "core/config/config.hpp"
#include "core/io/file_lock.hpp"
#include "core/io/host.hpp"
#include "core/io/new_file.hpp"
#include "core/io/permissions.hpp"
#include "core/layout/names.hpp"
#include "core/layout/replace.hpp"
#include "core/offline/survey.hpp"
#include "hdf5/base/dropped_references.hpp"
#include "tools/command.hpp"
#include "tools/hdf5/check_edited.hpp"
#include "tools/hdf5/remove_on_signal.hpp"
#include "tools/hdf5/replaced_file.hpp"
#include "tools/hdf5/start.hpp"
#include "tools/progress.hpp"
#include "tools/units.hpp"
#include "transfer/cached_copy.hpp"
#include "vol/library/copy_container.hpp"

namespace bento::tools {

namespace {

struct Options {
  std::string from;
  std::string to;
  std::string keys;
  bool force = false;
  bool drop_steps = false;
};

/// A container under a hidden name that goes if it is not published.
class Unfinished {
 public:
  explicit Unfinished(const std::string& path)
      : path_(path), hidden_(unfinished_name(path, std::to_string(::getpid()))) {
    removed_.emplace(hidden_);
  }
  ~Unfinished() {
    if (!published_) (void)std::remove(hidden_.c_str());
  }
  Unfinished(const Unfinished&) = delete;
  Unfinished& operator=(const Unfinished&) = delete;
  [[nodiscard]] const std::string& hidden() const { return hidden_; }

  /// All but its name; may take long. `called`: under which name SION shall know it.
  Status complete(const std::string& called) {
    BENTO_ASSIGN(const auto file, open_posix_file(hidden_, OpenMode::kReadWrite));
    BENTO_TRY(call_container(*file, called));
    return file->sync();
  }
  Status publish(bool replace) {
    // Where the file system cannot do it in one step, a link does it, too.
    const unsigned flags = replace ? 0 : RENAME_NOREPLACE;
    int done = ::renameat2(AT_FDCWD, hidden_.c_str(), AT_FDCWD, path_.c_str(), flags);
    if (done != 0 && errno == EINVAL && !replace) {
      done = ::link(hidden_.c_str(), path_.c_str());
      if (done == 0) (void)std::remove(hidden_.c_str());
    }
    if (done != 0 && errno == EEXIST)
      return fail(Code::kExists, fmt::format("'{}' is there already", path_));
    if (done != 0) return fail(os_error(errno, "naming of", path_));
    published_ = true;
    std::string folder = std::filesystem::path(path_).parent_path().string();
    if (folder.empty()) folder = ".";
    BENTO_ASSIGN(const auto opened, open_posix_file(folder, OpenMode::kDirectory));
    return opened->sync();
  }

 private:
  std::string path_;
  std::string hidden_;
  bool published_ = false;
  std::optional<RemoveOnSignal> removed_;
};

/// The new container gets its name when it is complete, which it would not be in a cache.
Status check_settings(const std::string& keys) {
  BENTO_ASSIGN(const Config wanted,
               load_config(keys, [](const char*) -> const char* { return nullptr; }));
  if (wanted.cache.empty()) return {};
  return fail(Code::kInvalidArgument,
              "--settings: cache= is for programs that write; this one writes to the new "
              "container's own folder, in which it gets its name when it is complete");
}

Result<vol::CopyReport> copy(Output& out, const Options& options, const std::string& what,
                             const std::string& to, bool into_empty_file = false) {
  BENTO_TRY(check_settings(options.keys));
  BENTO_ASSIGN(const std::uint64_t bytes, vol::bytes_to_copy(options.from));
  Progress progress(what, bytes, out.json());
  vol::CopySettings settings;
  settings.keys = options.keys;
  settings.into_empty_file = into_empty_file;
  settings.progress = [&progress](std::uint64_t copied) { progress.add(copied); };
  return vol::copy_into_container(options.from, to, settings);
}

Result<ExitStatus> tell(Output& out, const Options& options, const vol::CopyReport& report) {
  struct stat about{};
  if (::stat(options.to.c_str(), &about) != 0) return fail(os_error(errno, "stat of", options.to));
  constexpr std::uint64_t kUnit = 512;
  const std::uint64_t bytes = static_cast<std::uint64_t>(about.st_blocks) * kUnit;
  if (report.dropped > 0)
    out.note(vol::about_dropped_references(report.dropped) + ", and are null now");
  if (report.kept > 0)
    out.note(fmt::format("'{}' holds the newest step only; {} older ones were not copied",
                         options.to, report.kept));
  out.answer() = {{"file", options.to},
                  {"bytes", bytes},
                  {"steps_not_copied", report.kept},
                  {"references_dropped", report.dropped}};
  out.print("'{}': a container of {}\n", options.to, bytes_text(bytes));
  return ExitStatus::kDone;
}

Status must_not_be_there(const Options& options) {
  std::error_code failed;
  const auto there = std::filesystem::symlink_status(options.to, failed);
  if (!std::filesystem::exists(there)) return {};
  // Of a folder or a device, somebody would miss the name.
  if (options.force &&
      (std::filesystem::is_regular_file(there) || std::filesystem::is_symlink(there)))
    return {};
  return fail(Code::kExists, fmt::format("'{}' is there already", options.to));
}

/// Copies to a file that takes the place of what is at `options.to`, and has its permissions; not
/// even on the way may others read what they must not read there.
Result<vol::CopyReport> copy_in_place_of(Output& out, const Options& options,
                                         const std::string& what, const Unfinished& made) {
  struct stat old{};
  if (::lstat(options.to.c_str(), &old) != 0 || !S_ISREG(old.st_mode))
    return copy(out, options, what, made.hidden());
  BENTO_TRY(make_private_file(made.hidden()));
  BENTO_ASSIGN(auto report, copy(out, options, what, made.hidden(), true));
  BENTO_ASSIGN(const auto fresh, open_posix_file(made.hidden(), OpenMode::kReadWrite));
  take_permissions_of(options.to, fresh->descriptor());
  struct stat now{};
  if (::fstat(fresh->descriptor(), &now) == 0 && now.st_uid != old.st_uid)
    out.note(fmt::format("'{}' belongs to you now", options.to));
  BENTO_TRY(fresh->close());
  return report;
}

Result<ExitStatus> copy_to_new(Output& out, const Options& options, const std::string& what) {
  BENTO_ASSIGN(const auto replaced, ReplacedFile::look(options.to, options.from, options.force));
  BENTO_TRY(must_not_be_there(options));
  Unfinished made(options.to);
  BENTO_ASSIGN(const auto report, copy_in_place_of(out, options, what, made));
  BENTO_TRY(made.complete(options.to));
  BENTO_TRY(replaced.check_unchanged());
  BENTO_TRY(made.publish(options.force));
  BENTO_TRY(replaced.settle());
  return tell(out, options, report);
}

Result<ExitStatus> run_import(Output& out, const Options& options) {
  if (check_is_container(options.from))
    return fail(
        Code::kInvalidArgument,
        fmt::format("'{}' is a container already; 'h5bento defrag' copies it", options.from));
  BENTO_TRY(start_hdf5());
  return copy_to_new(out, options, "import");
}

/// Is the locked file what the name leads to, and not older than what a cache holds?
Status check_newest_and_named(const std::string& path, const File& locked) {
  BENTO_ASSIGN(const auto identity, file_identity(locked));
  BENTO_TRY(check_not_replaced(path, identity));
  BENTO_ASSIGN(const auto newer, transfer::newest_copy(path));
  if (!newer) return {};
  return fail(Code::kBusy,
              fmt::format("a newer state of '{}' is in the cache '{}' and has not arrived: wait "
                          "for it (h5bento transfer wait), or give an OUT",
                          path, newer->path));
}

/// Nobody may write meanwhile, and nobody who waits may write to the old file afterwards.
Result<ExitStatus> defrag_in_place(Output& out, Options options) {
  std::error_code failed;
  options.from = std::filesystem::canonical(options.from, failed).string();
  if (failed) return fail(os_error(failed.value(), "looking for", options.from));
  options.to = options.from;
  BENTO_ASSIGN(const auto first, open_posix_file(options.from, OpenMode::kReadWrite));
  BENTO_ASSIGN(const auto lock, FileLock::take_alone(*first, Locking::kBestEffort));
  BENTO_TRY(check_newest_and_named(options.from, *first));
  BENTO_ASSIGN(const Survey survey, Survey::open(options.from));
  BENTO_TRY(check_edited(survey));
  auto known_as = name_in(*first);
  if (!known_as)
    return fail(std::move(known_as).error().with_context(fmt::format("'{}'", options.from)));
  const Root& root = survey.root();
  if (root.step > root.oldest && !options.drop_steps)
    return fail(Code::kExists,
                fmt::format("'{}' keeps steps {} to {}, and the copy has the newest only: give an "
                            "OUT, or say --drop-steps",
                            options.from, root.oldest, root.step));
  BENTO_ASSIGN(const auto parts,
               parts_to_remove(ContainerNames::of(*first), root, true, &open_posix_file));
  Unfinished made(options.to);
  BENTO_ASSIGN(const auto report, copy_in_place_of(out, options, "defrag", made));
  BENTO_TRY(made.complete(*known_as));
  BENTO_TRY(check_newest_and_named(options.from, *first));
  BENTO_TRY(made.publish(true));
  for (const auto& part : parts)
    if (std::remove(part.c_str()) != 0) out.note(os_error(errno, "removing of", part).text);
  return tell(out, options, report);
}

Result<ExitStatus> run_defrag(Output& out, const Options& options) {
  BENTO_TRY(check_is_container(options.from));
  BENTO_TRY(start_hdf5());
  if (options.to.empty()) return defrag_in_place(out, options);
  BENTO_ASSIGN(const Survey survey, Survey::open(options.from));
  BENTO_TRY(check_edited(survey));
  return copy_to_new(out, options, "defrag");
}

}  // namespace

void add_defrag(Tool& tool) {
  const auto options = std::make_shared<Options>();
  tool.add(
          "defrag", "Copy a container without gaps and dead data, each dataset in one piece",
          [options](Output& out) { return run_defrag(out, *options); },
          "Without OUT, a new file takes the place of IN when it is complete, and nobody may write "
          "IN meanwhile.\nThe copy is one file, whatever IN was, and has the newest step only.")
      .argument("IN", options->from, "the container")
      .optional_argument("OUT", options->to, "the new container (default: in the place of IN)")
      .option("--settings", "KEYS", options->keys,
              "of the new container, as in a connector string: \"minmax=on;chunk=1G\"")
      .flag("-f,--force", options->force, "replace OUT if it is there")
      .flag("--drop-steps", options->drop_steps, "in place: older steps may go");
}

void add_import(Tool& tool) {
  const auto options = std::make_shared<Options>();
  tool.add("import", "Make a container of an ordinary HDF5 file",
           [options](Output& out) { return run_import(out, *options); })
      .argument("IN", options->from, "the HDF5 file")
      .argument("OUT", options->to, "the new container")
      .option("--settings", "KEYS", options->keys,
              "of the new container, as in a connector string: \"minmax=on;checksum=md5\"")
      .flag("-f,--force", options->force, "replace OUT if it is there");
}

}  // namespace bento::tools
