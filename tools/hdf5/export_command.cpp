// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
/// \file
/// `h5bento export FILE OUT`: a container as an ordinary HDF5 file, as FTI's rank files, or as its
/// streams.
#include <charconv>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/comm/communicator.hpp"
#include "core/io/new_file.hpp"
#include "core/joined/joined_export.hpp"
#include "core/joined/joined_report.hpp"
#include "core/offline/export_fti.hpp"
#include "core/offline/export_streams.hpp"
#include "core/offline/survey.hpp"
#include "hdf5/native/native_file.hpp"
#include "hdf5/native/record_decoder.hpp"
#include "tools/command.hpp"
#include "tools/hdf5/remove_on_signal.hpp"
#include "tools/hdf5/replaced_file.hpp"
#include "tools/hdf5/start.hpp"
#include "tools/progress.hpp"
#include "tools/units.hpp"

namespace bento::tools {

namespace {

struct Options {
  std::string path;
  std::string out;
  std::string format = "hdf5";
  std::string step;
  bool force = false;
};

Result<std::optional<AbsoluteStep>> asked_step(const Options& options) {
  if (options.step.empty()) return std::optional<AbsoluteStep>();
  std::uint64_t number = 0;
  const char* const end = options.step.data() + options.step.size();
  const auto parsed = std::from_chars(options.step.data(), end, number);
  if (parsed.ec != std::errc() || parsed.ptr != end || number == 0)
    return fail(Code::kInvalidArgument,
                fmt::format("--step={}: a step is a number from 1 on; 'h5bento steps {}' lists "
                            "those that are kept",
                            options.step, options.path));
  return std::optional(AbsoluteStep(number));
}

Result<std::unique_ptr<Container>> open_container(const Options& options) {
  ContainerOptions how;
  BENTO_ASSIGN(how.step, asked_step(options));
  return Container::open(options.path, false, how, make_self_communicator());
}

// --- HDF5 --------------------------------------------------------------------------------------

Result<ExitStatus> export_hdf5(Output& out, const Options& options) {
  BENTO_ASSIGN(auto container, open_container(options));
  BENTO_ASSIGN(const auto replaced, ReplacedFile::look(options.out, options.path, options.force));
  BENTO_ASSIGN(const auto target, NewFile::create(options.out, options.force));
  BENTO_ASSIGN(const auto made, vol::NativeFile::assemble(std::move(container), &target->file()));
  const std::uint64_t step = made->container().step().number();
  {
    Progress progress("export", made->data_bytes(), out.json());
    BENTO_TRY(made->write_data([&progress](std::uint64_t bytes) { progress.add(bytes); }));
  }
  BENTO_TRY(target->complete());
  BENTO_TRY(replaced.check_unchanged());
  BENTO_TRY(target->publish());
  BENTO_TRY(replaced.settle());
  for (const auto& note : made->notes()) out.note(note);
  out.answer() = {{"file", options.out},
                  {"format", "hdf5"},
                  {"step", step},
                  {"bytes", made->bytes()},
                  {"notes", made->notes()}};
  out.print("'{}': an HDF5 file of {}, step {} of '{}'\n", options.out, bytes_text(made->bytes()),
            step, options.path);
  return ExitStatus::kDone;
}

// --- a file for each rank ----------------------------------------------------------------------

/// A folder that gets its name when it is complete.
class NewFolder {
 public:
  static Result<NewFolder> create(const std::string& path) {
    std::error_code failed;
    if (std::filesystem::exists(std::filesystem::symlink_status(path, failed)))
      return fail(Code::kExists,
                  fmt::format("'{}' is there already; rank files go to a new folder", path));
    NewFolder folder(path);
    folder.removed_ = std::make_unique<RemoveOnSignal>(folder.unfinished_);
    if (::mkdir(folder.unfinished_.c_str(), 0777) != 0)
      return fail(os_error(errno, "creation of folder", folder.unfinished_));
    folder.there_ = true;
    return folder;
  }
  NewFolder(NewFolder&& other) noexcept
      : path_(std::move(other.path_)),
        unfinished_(std::move(other.unfinished_)),
        there_(std::exchange(other.there_, false)),
        removed_(std::move(other.removed_)) {}
  NewFolder& operator=(NewFolder&&) = delete;
  NewFolder(const NewFolder&) = delete;
  NewFolder& operator=(const NewFolder&) = delete;
  ~NewFolder() {
    std::error_code ignored;
    if (there_) std::filesystem::remove_all(unfinished_, ignored);
  }
  [[nodiscard]] const std::string& unfinished() const { return unfinished_; }

  /// `files`: with a `path` each.
  template <class Files>
  Status publish(const Files& files) {
    for (const auto& rank : files) {
      BENTO_ASSIGN(const auto file, open_posix_file(rank.path, OpenMode::kReadWrite));
      BENTO_TRY(file->sync());
    }
    const auto whole = removed_->before_rename();
    if (::renameat2(AT_FDCWD, unfinished_.c_str(), AT_FDCWD, path_.c_str(), RENAME_NOREPLACE) != 0)
      return fail(os_error(errno, "naming of", path_));
    there_ = false;
    return {};
  }

 private:
  explicit NewFolder(std::string path)
      : path_(std::move(path)), unfinished_(fmt::format("{}.{}.unfinished", path_, ::getpid())) {}
  std::string path_;
  std::string unfinished_;
  bool there_ = false;
  std::unique_ptr<RemoveOnSignal> removed_;
};

Status check_folder_options(const Options& options) {
  if (!options.step.empty())
    return fail(Code::kInvalidArgument,
                "--step is for --format hdf5: rank files are made of the newest step, which is "
                "what the streams hold");
  if (options.force)
    return fail(Code::kInvalidArgument,
                "--force is for --format hdf5: rank files go to a new folder");
  return {};
}

/// Tells of the files that are in the folder now.
template <class Files>
std::string list_files(Output& out, const Options& options, const Files& files) {
  Json& list = out.answer()["files"] = Json::array();
  std::uint64_t bytes = 0;
  for (const auto& one : files) {
    bytes += one.bytes;
    const std::string name = std::filesystem::path(one.path).filename();
    list.push_back({{"file", options.out + "/" + name}, {"bytes", one.bytes}});
  }
  out.answer()["format"] = options.format;
  return bytes_text(bytes);
}

Result<ExitStatus> export_rank_streams(Output& out, const Options& options) {
  BENTO_TRY(check_folder_options(options));
  BENTO_ASSIGN(NewFolder folder, NewFolder::create(options.out));
  std::optional<Progress> progress;
  ExportStreamsOptions how;
  how.total = [&](std::uint64_t bytes) { progress.emplace("export", bytes, out.json()); };
  how.progress = [&](std::uint64_t bytes) { progress->add(bytes); };
  const auto streams = export_streams(options.path, folder.unfinished(), how);
  progress.reset();
  if (!streams) return fail(streams.error());
  BENTO_TRY(folder.publish(*streams));
  const std::string bytes = list_files(out, options, *streams);
  out.print("'{}': {}, {} together\n", options.out, count_text(streams->size(), "stream"), bytes);
  return ExitStatus::kDone;
}

Result<ExitStatus> export_rank_files(Output& out, const Options& options) {
  BENTO_TRY(check_folder_options(options));
  BENTO_ASSIGN(const auto container, open_container(options));
  BENTO_ASSIGN(const auto decoder, vol::RecordDecoder::make(*container));
  ExportFtiOptions how;
  how.layout = options.format == "fti" ? fti::Layout::kV11 : fti::Layout::kV16;
  how.timestamp_ns = static_cast<std::uint64_t>(
      std::chrono::nanoseconds(std::chrono::system_clock::now().time_since_epoch()).count());
  how.decode = [decoder](const Record& record, const std::vector<std::byte>& stored) {
    return decoder->decode(record, stored);
  };
  BENTO_ASSIGN(NewFolder folder, NewFolder::create(options.out));
  BENTO_ASSIGN(const auto ranks, export_fti(options.path, folder.unfinished(), how));
  BENTO_TRY(folder.publish(ranks));
  const std::string bytes = list_files(out, options, ranks);
  out.print("'{}': {} of FTI {}, {} together\n", options.out, count_text(ranks.size(), "rank file"),
            options.format == "fti" ? "1.1" : "1.6", bytes);
  return ExitStatus::kDone;
}

/// The HDF5 files that the streams of a container of the file driver are.
Result<ExitStatus> export_streams_of_driver(Output& out, const Options& options) {
  if (options.format != "per-rank" || !options.step.empty() || options.force)
    return fail(
        Code::kInvalidArgument,
        fmt::format("'{}' holds the HDF5 files of several processes: --format per-rank puts "
                    "them into a new folder, under their own names; --step and --force are "
                    "not for it",
                    options.path));
  BENTO_ASSIGN(NewFolder folder, NewFolder::create(options.out));
  std::unique_ptr<Progress> progress;
  ExportJoinedOptions how;
  how.total = [&](std::uint64_t bytes) {
    progress = std::make_unique<Progress>("export", bytes, out.json());
  };
  how.progress = [&](std::uint64_t bytes) { progress->add(bytes); };
  const auto files = export_joined(options.path, folder.unfinished(), how);
  progress.reset();
  if (!files) return fail(files.error());
  BENTO_TRY(folder.publish(*files));
  Json& list = out.answer()["files"] = Json::array();
  std::uint64_t bytes = 0;
  std::size_t cut = 0;
  for (const auto& one : *files) {
    bytes += one.bytes;
    cut += one.cut ? 1 : 0;
    const std::string file = options.out + one.path.substr(folder.unfinished().size());
    if (one.renamed)
      out.note(
          fmt::format("'{}' (task {}) is '{}', since no file can have its name beside the "
                      "others",
                      one.name, one.task, file));
    list.push_back({{"file", file},
                    {"name", one.name},
                    {"task", one.task},
                    {"bytes", one.bytes},
                    {"cut", one.cut}});
  }
  out.answer()["format"] = options.format;
  out.print("'{}': {}, {} together\n", options.out, count_text(files->size(), "HDF5 file"),
            bytes_text(bytes));
  if (cut > 0)
    out.note(fmt::format("{} of them were cut off: their processes were ended while they wrote",
                         count_text(cut)));
  return ExitStatus::kDone;
}

Result<ExitStatus> run_export(Output& out, const Options& options) {
  BENTO_TRY(check_is_container(options.path));
  if (is_joined_container(options.path)) return export_streams_of_driver(out, options);
  if (options.format == "per-rank") return export_rank_streams(out, options);
  BENTO_TRY(start_hdf5());
  return options.format == "hdf5" ? export_hdf5(out, options) : export_rank_files(out, options);
}

}  // namespace

void add_export(Tool& tool) {
  const auto options = std::make_shared<Options>();
  tool.add(
          "export", "Make an ordinary HDF5 file, or FTI's rank files, of a container",
          [options](Output& out) { return run_export(out, *options); },
          "OUT appears when it is complete. hdf5: one file that stock HDF5 reads, serial and "
          "parallel.\nfti, fti16: a new folder of rank files from which FTI 1.1, or 1.6, "
          "restarts.\n"
          "per-rank: a new folder with each rank's stream as it lies in the container.")
      .argument("FILE", options->path, "the container")
      .argument("OUT", options->out, "the file, or folder, to make")
      .choice("--format", options->format, {"hdf5", "fti", "fti16", "per-rank"},
              "what to make (default: hdf5)")
      .option("--step", "K", options->step, "as of this kept step (default: the newest)")
      .flag("-f,--force", options->force, "replace OUT if it is there");
}

}  // namespace bento::tools
