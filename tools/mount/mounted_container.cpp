// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "tools/mount/mounted_container.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>

#include <fmt/format.h>

#include "core/comm/communicator.hpp"
#include "core/layout/holder.hpp"
#include "core/offline/export_streams.hpp"
#include "core/offline/survey.hpp"
#include "core/stream/stream_walk.hpp"
#include "tools/mount/catalogue_text.hpp"
#include "tools/mount/inodes.hpp"

namespace bento::tools {

namespace {

constexpr std::size_t kMostAssembled = 16;

tl::unexpected<Error> no_entry() {
  return fail(Code::kNotFound, "no such name");
}

std::optional<std::uint64_t> parse_number(std::string_view text) {
  std::uint64_t number = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  // One name for one number: "03" is none.
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size() ||
      (text.size() > 1 && text[0] == '0') || number > kNumberMask)
    return std::nullopt;
  return number;
}

}  // namespace

// --- streams and text --------------------------------------------------------------------------

/// What is read of a state of the container once, however many files show it.
struct MountedContainer::Snapshot {
  std::uint64_t sequence = 0;
  bool closed = false;  ///< and nobody has begun to write since
  ContainerNames names;
  ContainerPlan plan;
  std::vector<ChunkFill> fills;
  std::string text;
};

class MountedContainer::TextFile final : public MountedFile {
 public:
  explicit TextFile(std::shared_ptr<const Snapshot> shown) : shown_(std::move(shown)) {}
  Result<std::size_t> read(std::uint64_t offset, std::span<std::byte> into) override {
    const std::string& text = shown_->text;
    if (offset >= text.size()) return std::size_t{0};
    const std::size_t count = std::min<std::size_t>(into.size(), text.size() - offset);
    std::memcpy(into.data(), text.data() + offset, count);
    return count;
  }

 private:
  std::shared_ptr<const Snapshot> shown_;
};

class MountedContainer::StreamFile final : public MountedFile {
 public:
  StreamFile(MountedContainer& mounted, std::shared_ptr<const Snapshot> shown,
             std::unique_ptr<File> file, StreamSource source)
      : mounted_(mounted),
        shown_(std::move(shown)),
        file_(std::move(file)),
        source_(std::move(source)) {}

  Result<std::size_t> read(std::uint64_t offset, std::span<std::byte> into) override {
    const std::lock_guard lock(mounted_.mutex_);
    BENTO_ASSIGN(const std::uint64_t size, source_.size());
    if (offset >= size) return std::size_t{0};
    into = into.first(std::min<std::size_t>(into.size(), size - offset));
    BENTO_TRY(source_.read_at(offset, into));
    // Writers leave their note before they touch a stream.
    BENTO_ASSIGN(const Root now, mounted_.root());
    if (now.sequence != shown_->sequence || !read_holder_note(*mounted_.first_).empty())
      return fail(Code::kBusy, fmt::format("'{}' is being written: its streams are not shown "
                                           "before it is closed",
                                           mounted_.path_));
    return into.size();
  }

 private:
  MountedContainer& mounted_;
  std::shared_ptr<const Snapshot> shown_;
  std::unique_ptr<File> file_;
  StreamSource source_;
};

Result<std::shared_ptr<const MountedContainer::Snapshot>> MountedContainer::snapshot() {
  BENTO_ASSIGN(const Root now, root());
  const bool closed = (now.flags & kRootClosed) != 0 && read_holder_note(*first_).empty();
  if (snapshot_ && snapshot_->sequence == now.sequence && snapshot_->closed == closed)
    return snapshot_;
  BENTO_ASSIGN(const Survey survey, Survey::open(path_));
  auto fresh = std::make_shared<Snapshot>();
  fresh->sequence = now.sequence;
  fresh->closed = closed && survey.closed();
  fresh->names = ContainerNames::of(*first_);
  fresh->plan = survey.plan();
  fresh->fills = survey.fills();
  fresh->text = catalogue_text(survey);
  snapshot_ = fresh;
  return snapshot_;
}

// --- steps -------------------------------------------------------------------------------------

class MountedContainer::StepFile final : public MountedFile {
 public:
  StepFile(MountedContainer& mounted, std::uint64_t number, bool cached)
      : mounted_(mounted), number_(number), cached_(cached) {}
  ~StepFile() override {
    const std::lock_guard lock(mounted_.mutex_);
    --mounted_.steps_.at(number_).open;
  }
  StepFile(const StepFile&) = delete;
  StepFile& operator=(const StepFile&) = delete;

  Result<std::size_t> read(std::uint64_t offset, std::span<std::byte> into) override {
    const std::lock_guard lock(mounted_.mutex_);
    Step& step = mounted_.steps_.at(number_);
    if (step.gone) return fail(mounted_.no_longer(number_).error());
    const std::uint64_t size = step.file->bytes();
    if (offset >= size) return std::size_t{0};
    into = into.first(std::min<std::size_t>(into.size(), size - offset));
    BENTO_TRY(step.file->read(offset, into));
    return into.size();
  }
  [[nodiscard]] bool may_be_cached() const override { return cached_; }

 private:
  MountedContainer& mounted_;
  std::uint64_t number_;
  bool cached_;
};

Status MountedContainer::no_longer(std::uint64_t number) const {
  return fail(Code::kBusy,
              fmt::format("step {} of '{}' is gone: its writer has committed newer ones. Let the "
                          "writer keep more steps (keep=)",
                          number, path_));
}

Result<Root> MountedContainer::root() {
  BENTO_ASSIGN(const Probe seen, probe(*first_));
  if (seen.kind != FileKind::kContainer || seen.root.file_id != file_id_)
    return fail(
        Code::kBusy,
        fmt::format("'{}' was replaced by another file: unmount it, and mount it again", path_));
  return seen.root;
}

Result<MountedContainer::Step*> MountedContainer::step(std::uint64_t number) {
  const auto known = steps_.find(number);
  if (known != steps_.end()) {
    if (known->second.gone) return fail(no_longer(number).error());
    known->second.used = ++clock_;
    return &known->second;
  }
  ContainerOptions how;
  how.step = AbsoluteStep(number);
  BENTO_ASSIGN(auto container, Container::open(path_, false, how, make_self_communicator()));
  if (container->root().file_id != file_id_)
    return fail(Code::kBusy, fmt::format("'{}' was replaced by another file", path_));
  Step fresh;
  BENTO_ASSIGN(fresh.file, vol::NativeFile::assemble(std::move(container)));
  fresh.used = ++clock_;
  return &steps_.emplace(number, std::move(fresh)).first->second;
}

std::vector<Inode> MountedContainer::gone() {
  const std::lock_guard lock(mutex_);
  std::vector<Inode> inodes;
  const auto now = root();
  for (auto at = steps_.begin(); at != steps_.end();) {
    auto& [number, step] = *at;
    const bool kept = now && number >= now->oldest && number <= now->step;
    if (!kept && !step.gone) {
      step.gone = true;
      inodes.push_back(inode_of(Kind::kStepFile, number));
      if (step.open > 0) log_(now ? no_longer(number).error().text : now.error().text);
      step.file.reset();
    }
    ++at;
  }
  return inodes;
}

Inode MountedContainer::begin_eviction() {
  const std::lock_guard lock(mutex_);
  if (steps_.size() <= kMostAssembled) return 0;
  auto oldest = steps_.end();
  for (auto at = steps_.begin(); at != steps_.end(); ++at)
    if (at->second.open == 0 && (oldest == steps_.end() || at->second.used < oldest->second.used))
      oldest = at;
  if (oldest == steps_.end()) return 0;
  oldest->second.evicting = true;
  return inode_of(Kind::kStepFile, oldest->first);
}

void MountedContainer::finish_eviction(Inode inode) {
  const std::lock_guard lock(mutex_);
  const auto found = steps_.find(number_of(inode));
  if (found == steps_.end()) return;
  // Opened meanwhile: its pages are of this assembly.
  if (found->second.open == 0 && found->second.evicting) steps_.erase(found);
}

// --- names -------------------------------------------------------------------------------------

Result<std::unique_ptr<MountedContainer>> MountedContainer::open(const std::string& path, Log log) {
  BENTO_TRY(check_is_container(path));
  std::unique_ptr<MountedContainer> made(new MountedContainer(path, std::move(log)));
  BENTO_ASSIGN(made->first_, open_posix_file(path, OpenMode::kRead));
  BENTO_ASSIGN(const Probe seen, probe(*made->first_));
  made->file_id_ = seen.root.file_id;
  if (::stat(path.c_str(), &made->about_) != 0) return fail(os_error(errno, "stat of", path));
  // What would fail at every read fails now.
  BENTO_TRY(Container::open(path, false, {}, make_self_communicator()));
  return made;
}

MountedContainer::~MountedContainer() = default;

Result<Inode> MountedContainer::lookup(Inode folder, const std::string& name) {
  const std::lock_guard lock(mutex_);
  BENTO_ASSIGN(const Root now, root());
  switch (kind_of(folder)) {
    case Kind::kRoot:
      if (name == "data.h5") return inode_of(Kind::kStepFile, now.step);
      if (name == "steps") return inode_of(Kind::kSteps);
      if (name == "streams") return inode_of(Kind::kStreams);
      if (name == "catalogue.txt") return inode_of(Kind::kText);
      return no_entry();
    case Kind::kSteps: {
      const auto number = parse_number(name);
      if (!number || *number < now.oldest || *number > now.step) return no_entry();
      return inode_of(Kind::kStepFolder, *number);
    }
    case Kind::kStepFolder:
      if (number_of(folder) < now.oldest) return fail(no_longer(number_of(folder)).error());
      if (name != "data.h5") return no_entry();
      return inode_of(Kind::kStepFile, number_of(folder));
    case Kind::kStreams: {
      BENTO_ASSIGN(const auto shown, snapshot());
      for (std::uint64_t writer = 0; writer < shown->fills.size(); ++writer)
        if (stream_file_name(writer) == name) return inode_of(Kind::kStream, writer);
      return no_entry();
    }
    default:
      return no_entry();
  }
}

Result<std::pair<std::string, Inode>> MountedContainer::entry(Inode folder, std::uint64_t index) {
  const std::lock_guard lock(mutex_);
  BENTO_ASSIGN(const Root now, root());
  switch (kind_of(folder)) {
    case Kind::kRoot:
      if (index == 0) return std::pair{std::string("data.h5"), inode_of(Kind::kStepFile, now.step)};
      if (index == 1) return std::pair{std::string("steps"), inode_of(Kind::kSteps)};
      if (index == 2) return std::pair{std::string("streams"), inode_of(Kind::kStreams)};
      if (index == 3) return std::pair{std::string("catalogue.txt"), inode_of(Kind::kText)};
      return no_entry();
    case Kind::kSteps:
      if (now.oldest > now.step || index > now.step - now.oldest) return no_entry();
      return std::pair{fmt::format("{}", now.oldest + index),
                       inode_of(Kind::kStepFolder, now.oldest + index)};
    case Kind::kStepFolder:
      if (index > 0) return no_entry();
      return std::pair{std::string("data.h5"), inode_of(Kind::kStepFile, number_of(folder))};
    case Kind::kStreams: {
      BENTO_ASSIGN(const auto shown, snapshot());
      if (index >= shown->fills.size()) return no_entry();
      return std::pair{stream_file_name(index), inode_of(Kind::kStream, index)};
    }
    default:
      return no_entry();
  }
}

Result<std::uint64_t> MountedContainer::size_of(Inode inode) {
  switch (kind_of(inode)) {
    case Kind::kStepFile: {
      BENTO_ASSIGN(const Step* const shown, step(number_of(inode)));
      return shown->file->bytes();
    }
    case Kind::kStream: {
      BENTO_ASSIGN(const auto shown, snapshot());
      if (number_of(inode) >= shown->fills.size()) return no_entry();
      return stream_bytes(shown->fills[number_of(inode)]);
    }
    case Kind::kText: {
      BENTO_ASSIGN(const auto shown, snapshot());
      return std::uint64_t{shown->text.size()};
    }
    default:
      return std::uint64_t{0};
  }
}

bool MountedContainer::is_folder(Inode inode) {
  const Kind kind = kind_of(inode);
  return kind == Kind::kRoot || kind == Kind::kSteps || kind == Kind::kStreams ||
         kind == Kind::kStepFolder;
}

Result<struct stat> MountedContainer::attributes(Inode inode) {
  const std::lock_guard lock(mutex_);
  const bool folder = is_folder(inode);
  struct stat out{};
  out.st_ino = inode;
  out.st_uid = about_.st_uid;
  out.st_gid = about_.st_gid;
  out.st_atim = out.st_mtim = out.st_ctim = about_.st_mtim;
  const mode_t readable = about_.st_mode & 0444;
  out.st_mode = folder ? S_IFDIR | readable | (readable >> 2) : S_IFREG | readable;
  out.st_nlink = folder ? 2 : 1;
  BENTO_ASSIGN(const std::uint64_t bytes, size_of(inode));
  out.st_size = static_cast<off_t>(bytes);
  out.st_blksize = 1 << 20;
  out.st_blocks = static_cast<blkcnt_t>(bytes / 512 + (bytes % 512 != 0 ? 1 : 0));
  return out;
}

Result<std::unique_ptr<MountedFile>> MountedContainer::open_file(Inode inode) {
  const std::lock_guard lock(mutex_);
  switch (kind_of(inode)) {
    case Kind::kStepFile: {
      BENTO_ASSIGN(Step* const shown, step(number_of(inode)));
      BENTO_ASSIGN(const Root now, root());
      // Beside a writer every read comes here and asks whether the step is still there.
      const bool cached = (now.flags & kRootClosed) != 0 && read_holder_note(*first_).empty();
      ++shown->open;
      shown->evicting = false;
      return std::unique_ptr<MountedFile>(
          std::make_unique<StepFile>(*this, number_of(inode), cached));
    }
    case Kind::kStream: {
      BENTO_ASSIGN(const auto shown, snapshot());
      const std::uint64_t writer = number_of(inode);
      if (writer >= shown->fills.size()) return no_entry();
      if (!shown->closed)
        return fail(Code::kPermission,
                    fmt::format("'{}' is being written, or was not closed: its streams are not "
                                "shown (errno = {})",
                                path_, EBUSY),
                    EBUSY);
      StreamPlace place;
      const std::uint32_t index = shown->plan.file_of(static_cast<std::uint32_t>(writer));
      BENTO_ASSIGN(auto file, shown->names.open(index, OpenMode::kRead, &open_posix_file));
      place.file = file.get();
      place.plan = shown->plan.file(index);
      place.local_task = shown->plan.local_task(static_cast<std::uint32_t>(writer));
      place.writer = static_cast<std::uint32_t>(writer);
      StreamSource source(place, shown->fills[writer], path_);
      return std::unique_ptr<MountedFile>(
          std::make_unique<StreamFile>(*this, shown, std::move(file), std::move(source)));
    }
    case Kind::kText: {
      BENTO_ASSIGN(auto shown, snapshot());
      return std::unique_ptr<MountedFile>(std::make_unique<TextFile>(std::move(shown)));
    }
    default:
      return fail(os_error(EISDIR, "open of a folder of", path_));
  }
}

}  // namespace bento::tools
