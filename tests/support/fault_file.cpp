// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "tests/support/fault_file.hpp"

#include <algorithm>
#include <filesystem>
#include <mutex>
#include <new>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace bento {
namespace {

constexpr std::uint64_t kSectorBytes = 4096;  // what a disk writes in one piece, usually

using Kind = Unsynced::Kind;

/// One change that is not yet synced: what it replaced, and what it wrote.
struct Change {
  std::string path;
  Kind kind = Kind::kWrite;
  std::uint64_t offset = 0;       // of a write
  std::vector<std::byte> before;  // what the write covered, or the truncate cut off; may be short
  std::vector<std::byte> after;
  std::uint64_t size_before = 0;
  std::uint64_t size_after = 0;  // of a truncate
};

struct Armed {
  FaultRule rule;
  std::uint64_t seen = 0;
};

bool matches(FaultOn rule, FaultOn call) {
  if (rule == call) return true;
  return rule == FaultOn::kChange &&
         (call == FaultOn::kWrite || call == FaultOn::kSync || call == FaultOn::kTruncate);
}

Status undo(const FileOpener& below, const Change& change) {
  BENTO_ASSIGN(auto file, below(change.path, OpenMode::kReadWrite));
  // Behind `before`, the write made the file longer: cutting that off is the other half.
  BENTO_TRY(file->write_at(change.offset, change.before));
  BENTO_TRY(file->truncate(change.size_before));
  return file->close();
}

/// Does what survives of one change once more. Returns whether a name does.
Result<bool> redo(const FileOpener& below, const Change& change, Unsynced part,
                  const Survives& survives) {
  if (change.kind == Kind::kName) return survives(part) != 0;
  BENTO_ASSIGN(auto file, below(change.path, OpenMode::kReadWrite));
  if (change.kind == Kind::kTruncate) {
    if (survives(part) != 0) BENTO_TRY(file->truncate(change.size_after));
  }
  for (std::uint64_t done = 0; done < change.after.size(); done += part.bytes) {
    part.offset = change.offset + done;
    part.bytes = std::min<std::uint64_t>(kSectorBytes - part.offset % kSectorBytes,
                                         change.after.size() - done);
    const std::uint64_t kept = std::min(survives(part), part.bytes);
    BENTO_TRY(file->write_at(
        part.offset, std::span(change.after)
                         .subspan(static_cast<std::size_t>(done), static_cast<std::size_t>(kept))));
  }
  BENTO_TRY(file->close());
  return true;
}

/// Names of a file and of the folder it lies in, as programs may write them.
std::string folder_of(const std::string& path) {
  const auto folder = std::filesystem::path(path).lexically_normal().parent_path();
  return folder.empty() ? "." : folder.string();
}
bool is_folder_of(const std::string& folder, const std::string& path) {
  return folder_of((std::filesystem::path(folder) / "x").string()) == folder_of(path);
}

}  // namespace

struct FaultFileSystem::State {
  State(FileOpener opener, std::function<void(const std::string&)> removes)
      : below(std::move(opener)), remove(std::move(removes)) {}

  std::mutex mutex;
  FileOpener below;
  std::function<void(const std::string&)> remove;
  std::vector<Armed> rules;
  FaultCounts counts;
  std::vector<Change> log;
  bool dead = false;
  bool met = false;
  std::uint64_t process = 0;  // files of an earlier process stay dead

  /// The rule that hits this call, if one does. Every rule counts the call, hit or not.
  std::optional<FaultRule> hit(FaultOn call, const std::string& path) {
    std::optional<FaultRule> found;
    for (auto& [rule, seen] : rules) {
      if (!matches(rule.on, call) || path.find(rule.path_contains) == std::string::npos) continue;
      ++seen;
      const bool due = rule.forever ? seen >= rule.nth : seen == rule.nth;
      if (due && (!found || rule.die)) found = rule;
    }
    met = met || found.has_value();
    if (found && found->no_memory) throw std::bad_alloc();
    if (found && found->die) dead = true;
    return found;
  }

  [[nodiscard]] bool gone(std::uint64_t of_process) const { return dead || process != of_process; }
};

namespace {

using State = FaultFileSystem::State;

Error injected(const FaultRule& rule, std::string_view operation, const std::string& path) {
  if (!rule.die) return os_error(rule.os_errno, fmt::format("(injected) {} of", operation), path);
  return Error{Code::kIo, fmt::format("(injected) the process died in {} of '{}'", operation, path),
               EIO};
}

Error of_the_dead(std::string_view operation, const std::string& path) {
  return Error{Code::kIo, fmt::format("(injected) {} of '{}' by a dead process", operation, path),
               EIO};
}

class FaultFile final : public File {
 public:
  FaultFile(std::shared_ptr<State> state, std::unique_ptr<File> file, bool folder)
      : state_(std::move(state)),
        file_(std::move(file)),
        path_(file_->path()),
        folder_(folder),
        process_(state_->process) {}

  Status read_at(std::uint64_t offset, std::span<std::byte> into) override {
    const std::scoped_lock lock(state_->mutex);
    BENTO_TRY(pass(FaultOn::kRead, "read"));
    return file_->read_at(offset, into);
  }

  Result<std::size_t> read_some(std::uint64_t offset, std::span<std::byte> into) override {
    const std::scoped_lock lock(state_->mutex);
    BENTO_TRY(pass(FaultOn::kRead, "read"));
    return file_->read_some(offset, into);
  }

  Status write_at(std::uint64_t offset, std::span<const std::byte> from) override {
    const std::scoped_lock lock(state_->mutex);
    BENTO_TRY(alive("write"));
    const auto rule = state_->hit(FaultOn::kWrite, path_);
    if (rule && rule->torn_at == 0) return fail(injected(*rule, "write", path_));
    const auto part = from.first(
        rule ? static_cast<std::size_t>(std::min<std::uint64_t>(rule->torn_at, from.size()))
             : from.size());
    BENTO_ASSIGN(Change change, cover(offset, part.size()));
    change.offset = offset;
    change.after.assign(part.begin(), part.end());
    BENTO_TRY(file_->write_at(offset, part));
    state_->log.push_back(std::move(change));
    ++state_->counts.writes;
    if (rule) return fail(injected(*rule, "write", path_));
    return {};
  }

  Result<std::uint64_t> size() override {
    const std::scoped_lock lock(state_->mutex);
    BENTO_TRY(alive("size"));
    return file_->size();
  }

  Status truncate(std::uint64_t bytes) override {
    const std::scoped_lock lock(state_->mutex);
    BENTO_TRY(pass(FaultOn::kTruncate, "truncate"));
    BENTO_ASSIGN(const std::uint64_t now, file_->size());
    const std::uint64_t start = std::min(bytes, now);
    BENTO_ASSIGN(Change change, cover(start, static_cast<std::size_t>(now - start)));
    change.kind = Kind::kTruncate;
    change.offset = start;
    change.size_after = bytes;
    BENTO_TRY(file_->truncate(bytes));
    state_->log.push_back(std::move(change));
    ++state_->counts.truncates;
    return {};
  }

  Status sync() override {
    const std::scoped_lock lock(state_->mutex);
    BENTO_TRY(pass(FaultOn::kSync, "sync"));
    BENTO_TRY(file_->sync());
    std::erase_if(state_->log, [this](const Change& change) {
      const bool name = change.kind == Kind::kName;
      return folder_ ? name && is_folder_of(path_, change.path) : !name && change.path == path_;
    });
    ++state_->counts.syncs;
    return {};
  }

  Status close() override {
    const std::scoped_lock lock(state_->mutex);
    // The system closes the files of a dead process, too.
    const Status closed = file_->close();
    BENTO_TRY(pass(FaultOn::kClose, "close"));
    return closed;
  }

  [[nodiscard]] const std::string& path() const override { return path_; }
  [[nodiscard]] int descriptor() const override { return file_->descriptor(); }

 private:
  Status alive(std::string_view operation) const {
    if (state_->gone(process_)) return fail(of_the_dead(operation, path_));
    return {};
  }

  Status pass(FaultOn call, std::string_view operation) {
    BENTO_TRY(alive(operation));
    if (const auto rule = state_->hit(call, path_)) return fail(injected(*rule, operation, path_));
    return {};
  }

  /// Remembers what a change of these bytes will replace.
  Result<Change> cover(std::uint64_t offset, std::size_t count) {
    Change change;
    change.path = path_;
    BENTO_ASSIGN(change.size_before, file_->size());
    if (offset < change.size_before)
      change.before.resize(
          static_cast<std::size_t>(std::min<std::uint64_t>(count, change.size_before - offset)));
    BENTO_TRY(file_->read_at(offset, change.before));
    return change;
  }

  std::shared_ptr<State> state_;
  std::unique_ptr<File> file_;
  std::string path_;
  bool folder_;
  std::uint64_t process_;
};

Result<std::unique_ptr<File>> open_below(const std::shared_ptr<State>& state,
                                         const std::string& path, OpenMode mode) {
  const std::scoped_lock lock(state->mutex);
  if (state->dead) return fail(of_the_dead("open", path));
  if (const auto rule = state->hit(FaultOn::kOpen, path))
    return fail(injected(*rule, "open", path));
  // Creating over an existing file throws its bytes away, which a power loss would bring back; a
  // new one has a name that may be lost.
  std::optional<Change> created;
  if (makes_a_file(mode)) {
    created.emplace();
    created->path = path;
    created->kind = Kind::kName;
    if (auto old = state->below(path, OpenMode::kReadWrite)) {
      BENTO_ASSIGN(const std::uint64_t bytes, (*old)->size());
      created->kind = Kind::kTruncate;
      created->size_before = bytes;
      created->before.resize(static_cast<std::size_t>(bytes));
      BENTO_TRY((*old)->read_at(0, created->before));
      BENTO_TRY((*old)->close());
    }
  }
  BENTO_ASSIGN(auto file, state->below(path, mode));
  if (created && (created->kind == Kind::kTruncate || state->remove))
    state->log.push_back(std::move(*created));
  const bool folder = mode == OpenMode::kDirectory;
  return std::unique_ptr<File>(std::make_unique<FaultFile>(state, std::move(file), folder));
}

}  // namespace

Survives random_survival(std::uint64_t seed) {
  if (seed == 0) return [](const Unsynced&) { return std::uint64_t{0}; };
  if (seed == 1)
    return [](const Unsynced& part) {
      const bool torn = part.last && part.kind == Kind::kWrite;
      return torn ? part.bytes / 2 : FaultRule::kWhole;
    };
  auto dice = std::make_shared<std::mt19937_64>(seed);
  const std::uint64_t eighths = 1 + (*dice)() % 7;  // mostly lost, ..., mostly kept
  return [dice, eighths](const Unsynced& part) -> std::uint64_t {
    if ((*dice)() % 8 >= eighths) return 0;
    const bool torn = part.kind == Kind::kWrite && (*dice)() % 8 == 0;
    return torn ? (*dice)() % part.bytes : FaultRule::kWhole;
  };
}

FaultFileSystem::FaultFileSystem(FileOpener below, std::function<void(const std::string&)> remove)
    : state_(std::make_shared<State>(std::move(below), std::move(remove))) {}

FileOpener FaultFileSystem::opener() const {
  return [state = state_](const std::string& path, OpenMode mode) {
    return open_below(state, path, mode);
  };
}

void FaultFileSystem::add(FaultRule rule) const {
  const std::scoped_lock lock(state_->mutex);
  state_->rules.push_back({std::move(rule), 0});
}

void FaultFileSystem::clear_rules() const {
  const std::scoped_lock lock(state_->mutex);
  state_->rules.clear();
}

FaultCounts FaultFileSystem::counts() const {
  const std::scoped_lock lock(state_->mutex);
  return state_->counts;
}

bool FaultFileSystem::dead() const {
  const std::scoped_lock lock(state_->mutex);
  return state_->dead;
}

bool FaultFileSystem::met() const {
  const std::scoped_lock lock(state_->mutex);
  return state_->met;
}

void FaultFileSystem::restart() const {
  const std::scoped_lock lock(state_->mutex);
  state_->dead = false;
  state_->rules.clear();
  ++state_->process;
}

Status FaultFileSystem::power_loss(const Survives& survives) const {
  restart();
  const std::scoped_lock lock(state_->mutex);
  const std::vector<Change> log = std::exchange(state_->log, {});
  for (auto change = log.rbegin(); change != log.rend(); ++change) {
    if (change->kind != Kind::kName) BENTO_TRY(undo(state_->below, *change));
  }
  // A later change that survives may lie behind one that does not: only doing them again gets that
  // right.
  const Survives nothing = [](const Unsynced&) { return std::uint64_t{0}; };
  std::vector<std::string> lost;
  for (std::size_t i = 0; i < log.size(); ++i) {
    const Unsynced part{log[i].kind, i, i + 1 == log.size(), log[i].path, 0, 0};
    BENTO_ASSIGN(const bool kept, redo(state_->below, log[i], part, survives ? survives : nothing));
    if (!kept) lost.push_back(log[i].path);
  }
  for (const auto& path : lost) state_->remove(path);
  return {};
}

std::size_t FaultFileSystem::unsynced() const {
  const std::scoped_lock lock(state_->mutex);
  return state_->log.size();
}

}  // namespace bento
