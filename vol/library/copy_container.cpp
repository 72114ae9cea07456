// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "vol/library/copy_container.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <future>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "core/base/checked.hpp"
#include "core/container/container.hpp"
#include "core/offline/survey.hpp"
#include "hdf5/base/error_bridge.hpp"
#include "hdf5/base/quiet_errors.hpp"
#include "hdf5/base/types.hpp"
#include "hdf5/data/selection.hpp"
#include "hdf5/data/spaces.hpp"
#include "hdf5/data/stored_chunks.hpp"
#include "hdf5/view/diverted_dataset.hpp"
#include "hdf5/view/group_properties.hpp"
#include "hdf5/view/source_files.hpp"
#include "hdf5/view/tree_copy.hpp"
#include "vol/file/container_open.hpp"
#include "vol/library/bento_list.hpp"
#include "vol/library/read_buffer.hpp"

namespace bento::vol {

namespace {

// What one write brings lies in one piece. More would be memory, and clearing that takes longer
// than the copy.
constexpr std::uint64_t kPieceBytes = 64u << 20;
// Else the part is read when it is asked for.
constexpr auto kThreadIfThereIsOne = std::launch::async | std::launch::deferred;
// Of this size, what was written for the most part is filled up.
constexpr std::uint64_t kPartBytes = 8u << 20;

class ContainerRecords final : public RecordSource {
 public:
  explicit ContainerRecords(Container& container) : container_(container) {}
  Result<RecordLookup> find(DatasetNumber dataset, const Box& selection) override {
    return container_.find(dataset, selection);
  }
  Status read(const Record& record, std::uint64_t element_bytes, const Box& part, const Box& to_box,
              std::byte* to) override {
    return container_.read(record, part, element_bytes, to_box, to);
  }
  Result<std::vector<std::byte>> read_stored(const Record& record) override {
    return container_.read_stored(record);
  }

 private:
  Container& container_;
};

/// One copy of a file.
class Copy {
 public:
  Copy(hid_t from, hid_t to, Container* container, const CopySettings& settings)
      : from_(from), to_(to), container_(container), settings_(settings) {
    if (container_ == nullptr) return;
    records_.emplace(*container_);
    const auto declared = container_->datasets();
    diverted_.emplace(declared);
  }

  Result<std::size_t> run() {
    TreeCopy tree(
        from_, to_,
        [this](hid_t dataset, const H5O_token_t& token, hid_t type, const std::string& path) {
          return make(dataset, token, type, path);
        },
        [] { return Status{}; }, {});
    BENTO_TRY(tree.run());
    return tree.dropped_references();
  }

 private:
  /// What is copied: both datasets are open.
  struct Subject {
    DatasetHandle from;
    TypeHandle type;
    SpaceHandle space;
    Dims extent;
    std::uint64_t element_bytes = 0;
    bool chunked = false;
    bool filtered = false;
    Dims chunk;
    std::shared_ptr<DivertedDataset> records;  ///< null if the library reads it
    std::string path;
  };

  Result<MadeDataset> make(hid_t from, const H5O_token_t& token, hid_t type,
                           const std::string& path) {
    BENTO_ASSIGN(MadeDataset made, make_undiverted(from, to_, type));
    if (!made.data_needed || has_variable_length(type) || has_reference(type)) return made;
    made.data_needed = false;
    const auto subject = std::make_shared<Subject>();
    if (H5Iinc_ref(from) < 0 || H5Iinc_ref(type) < 0) return copy_failure(path, "unreadable");
    subject->from = DatasetHandle(from);
    subject->type = TypeHandle(type);
    subject->path = path;
    BENTO_TRY(describe(*subject, token));
    made.fill = [this, subject](hid_t to) { return copy(*subject, to); };
    return made;
  }

  Status describe(Subject& subject, const H5O_token_t& token) {
    const hid_t from = subject.from.get();
    subject.space = SpaceHandle(H5Dget_space(from));
    subject.element_bytes = H5Tget_size(subject.type.get());
    const PlistHandle list(H5Dget_create_plist(from));
    if (!subject.space.valid() || !list.valid() || subject.element_bytes == 0)
      return copy_failure(subject.path, "unreadable");
    if (H5Sget_simple_extent_type(subject.space.get()) == H5S_NULL) {
      subject.extent = Dims(1, 0);
      return {};
    }
    BENTO_ASSIGN(subject.extent, extent_of(subject.space.get()));
    subject.chunked = H5Pget_layout(list.get()) == H5D_CHUNKED;
    subject.filtered = H5Pget_nfilters(list.get()) > 0;
    if (subject.chunked) {
      auto chunk = chunk_shape(list.get(), subject.extent.rank());
      if (!chunk) return copy_failure(subject.path, "its chunks are unreadable");
      subject.chunk = *chunk;
    }
    const DatasetDeclaration* const declared = diverted_ ? diverted_->find(token) : nullptr;
    if (declared == nullptr) return {};
    BENTO_ASSIGN(subject.records, describe_diverted(from, declared->number, subject.type.get(),
                                                    subject.path, declared));
    return {};
  }

  Status copy(const Subject& subject, hid_t to) {
    if (Box::whole(subject.extent).empty()) return {};
    H5D_space_status_t status = H5D_SPACE_STATUS_ERROR;
    if (H5Dget_space_status(subject.from.get(), &status) < 0)
      return copy_failure(subject.path, "its storage is unreadable");
    if (subject.filtered) return copy_chunks(subject, to);
    if (subject.records) return copy_records(subject, to, Box::whole(subject.extent));
    if (status == H5D_SPACE_STATUS_NOT_ALLOCATED) return {};
    if (!subject.chunked) return copy_box(subject, to, Box::whole(subject.extent));
    BENTO_ASSIGN(const auto chunks, chunks_of(subject));
    for (const auto& chunk : chunks) {
      Box box{subject.chunk, subject.chunk};
      for (unsigned d = 0; d < box.rank(); ++d) box.start[d] = chunk.offset[d];
      BENTO_TRY(copy_box(subject, to, intersect(box, Box::whole(subject.extent))));
    }
    return {};
  }

  Result<std::vector<StoredChunk>> chunks_of(const Subject& subject) {
    auto listed = stored_chunks(subject.from.get());
    if (!listed)
      return fail(std::move(listed).error().with_context(fmt::format("'{}'", subject.path)));
    return listed;
  }

  /// As they are stored, so that nothing is decoded.
  Status copy_chunks(const Subject& subject, hid_t to) {
    BENTO_ASSIGN(const auto chunks, chunks_of(subject));
    for (const auto& chunk : chunks) {
      if (chunk.bytes == 0) continue;
      hsize_t bytes = 0;  // a chunk of several records is filtered anew when it is asked for
      if (H5Dget_chunk_storage_size(subject.from.get(), chunk.offset.data(), &bytes) < 0)
        return copy_failure(subject.path, "a chunk of it is unreadable");
      BENTO_TRY(buffer_.resize(bytes));
      std::uint32_t mask = 0;
      if (H5Dread_chunk(subject.from.get(), H5P_DEFAULT, chunk.offset.data(), &mask,
                        buffer_.data()) < 0)
        return copy_failure(subject.path, "a chunk of it is unreadable");
      if (H5Dwrite_chunk(to, H5P_DEFAULT, mask, chunk.offset.data(), buffer_.size(),
                         buffer_.data()) < 0)
        return copy_failure(subject.path, "a chunk of it cannot be written");
      progress(buffer_.size());
    }
    return {};
  }

  // Halved as long as something of it was written and something was not. What was written for the
  // most part is filled up, so that it is one piece.
  Status copy_records(const Subject& subject, hid_t to, const Box& box) {
    BENTO_ASSIGN(const RecordLookup seen, records_->find(subject.records->number, box));
    if (seen.pieces.empty()) return {};
    const std::uint64_t bytes = box.count.bytes(subject.element_bytes);
    if (seen.uncovered.empty()) return copy_box(subject, to, box);
    if (bytes > kPartBytes && box.elements() > 1)
      return for_each_part(box, box.elements() / 2,
                           [&](const Box& part) { return copy_records(subject, to, part); });
    std::uint64_t written = 0;
    for (const Piece& piece : seen.pieces) written += piece.part.elements();
    if (written >= box.elements() / 2) return copy_box(subject, to, box);
    for (const Piece& piece : seen.pieces) BENTO_TRY(copy_box(subject, to, piece.part));
    return {};
  }

  Status copy_box(const Subject& subject, hid_t to, const Box& whole) {
    const std::uint64_t most = std::max<std::uint64_t>(1, kPieceBytes / subject.element_bytes);
    if (subject.records) return copy_read_ahead(subject, to, whole, most);
    return for_each_part(whole, most, [&](const Box& box) -> Status {
      if (box.empty()) return {};
      BENTO_TRY(buffer_.resize(box.elements() * subject.element_bytes));
      const SpaceHandle memory = simple_space(box.count);
      if (!memory.valid()) return copy_failure(subject.path, "its data cannot be read");
      if (box.rank() > 0) BENTO_TRY(select_box(subject.space.get(), box));
      if (H5Dread(subject.from.get(), subject.type.get(), memory.get(), subject.space.get(),
                  H5P_DEFAULT, buffer_.data()) < 0)
        return copy_failure(subject.path, "its data cannot be read");
      return write_box(subject, to, box, buffer_);
    });
  }

  // While the library writes one part, another thread reads the next: records need no HDF5.
  Status copy_read_ahead(const Subject& subject, hid_t to, const Box& whole, std::uint64_t most) {
    std::vector<Box> parts;
    BENTO_TRY(for_each_part(whole, most, [&](const Box& box) -> Status {
      if (!box.empty()) parts.push_back(box);
      return {};
    }));
    const auto read = [&](std::size_t part) -> Status {
      ReadBuffer& into = part % 2 == 0 ? buffer_ : second_;
      BENTO_TRY(into.resize(parts[part].elements() * subject.element_bytes));
      return read_elements(*records_, *subject.records, parts[part], into.data(), decoded_);
    };
    std::future<Status> next;
    for (std::size_t part = 0; part < parts.size(); ++part) {
      BENTO_TRY(next.valid() ? next.get() : read(part));
      if (part + 1 < parts.size()) next = std::async(kThreadIfThereIsOne, read, part + 1);
      BENTO_TRY(write_box(subject, to, parts[part], part % 2 == 0 ? buffer_ : second_));
    }
    return {};
  }

  Status write_box(const Subject& subject, hid_t to, const Box& box, const ReadBuffer& from) {
    const SpaceHandle memory = simple_space(box.count);
    if (!memory.valid()) return copy_failure(subject.path, "its data cannot be written");
    if (box.rank() > 0) BENTO_TRY(select_box(subject.space.get(), box));
    if (H5Dwrite(to, subject.type.get(), memory.get(), subject.space.get(), H5P_DEFAULT,
                 from.data()) < 0)
      return copy_failure(subject.path, "its data cannot be written");
    progress(from.size());
    return {};
  }

  void progress(std::uint64_t bytes) {
    if (settings_.progress) settings_.progress(bytes);
  }

  hid_t from_;
  hid_t to_;
  Container* container_;
  const CopySettings& settings_;
  std::optional<ContainerRecords> records_;
  DecodedCache decoded_;
  std::optional<DivertedDatasets> diverted_;
  ReadBuffer buffer_;
  ReadBuffer second_;
};

std::uint64_t bytes_on_disk(const std::string& path) {
  constexpr std::uint64_t kUnit = 512;
  struct stat about{};
  if (::stat(path.c_str(), &about) != 0) return 0;
  return static_cast<std::uint64_t>(about.st_blocks) * kUnit;
}

/// The container at `path`, or null if it is none.
Result<std::unique_ptr<Container>> open_container(const std::string& path,
                                                  const FileOpener& opener) {
  BENTO_ASSIGN(const auto file, open_posix_file(path, OpenMode::kRead));
  BENTO_ASSIGN(const Probe seen, probe(*file));
  if (seen.kind != FileKind::kContainer) return std::unique_ptr<Container>();
  ContainerOptions how;
  how.opener = opener;
  BENTO_ASSIGN(auto container, Container::open(path, false, how, make_self_communicator()));
  // It stays at this step, whatever a writer does.
  how.step = container->step();
  BENTO_ASSIGN(container, Container::open(path, false, how, make_self_communicator()));
  container->verify_what_has_hashes();
  return container;
}

/// What containers of this process are opened with, for a while.
class OpenedWith {
 public:
  explicit OpenedWith(FileOpener opener) { set_file_opener(std::move(opener)); }
  ~OpenedWith() { set_file_opener(open_posix_file); }
  OpenedWith(const OpenedWith&) = delete;
  OpenedWith& operator=(const OpenedWith&) = delete;
};

/// One chunk of SION for all, if the program gives none: with some space for what is around
/// records.
std::string keys_of(const Container* container, std::uint64_t bytes, const std::string& given) {
  constexpr std::uint64_t kUnit = 1u << 20;
  std::string keys = fmt::format("chunk={}", round_up(bytes + bytes / 16 + kUnit, kUnit));
  if (container != nullptr && container->root().record_hash() == fti::HashKind::kMd5)
    keys += ";checksum=md5";
  // Of a key that is given twice the last one would hold, but it is refused.
  std::string kept;
  for (std::size_t at = 0; at < keys.size();) {
    const std::size_t end = std::min(keys.find(';', at), keys.size());
    const std::string one = keys.substr(at, end - at);
    if ((";" + given).find(";" + one.substr(0, one.find('=') + 1)) == std::string::npos)
      kept += one + ";";
    at = end + 1;
  }
  return kept + given;
}

}  // namespace

Result<std::uint64_t> bytes_to_copy(const std::string& from, const FileOpener& opener) {
  BENTO_ASSIGN(const auto file, opener(from, OpenMode::kRead));
  BENTO_ASSIGN(const Probe seen, probe(*file));
  if (seen.kind != FileKind::kContainer) return bytes_on_disk(from);
  BENTO_ASSIGN(Survey survey, Survey::open(from, opener));
  BENTO_ASSIGN(const SpaceUse use, survey.space());
  BENTO_ASSIGN(const std::uint64_t catalogue, survey.catalogue_in_use());
  constexpr std::uint64_t kAround = 512;  // headers and fillers around a record, in about
  return use.live + use.records * kAround + catalogue;
}

Result<CopyReport> copy_into_container(const std::string& from, const std::string& to,
                                       const CopySettings& settings) {
  CopyReport report;
  const FileOpener opener = settings.opener ? settings.opener : FileOpener(open_posix_file);
  const OpenedWith opened(opener);
  BENTO_ASSIGN(const auto container, open_container(from, opener));
  BENTO_ASSIGN(const std::uint64_t bytes, bytes_to_copy(from, opener));
  std::string read_keys;
  if (container) {
    report.step = container->step().number();
    report.kept = report.step - container->oldest_step().number();
    read_keys = fmt::format("step={}", report.step);
  }
  BENTO_ASSIGN(const PlistHandle reading, bento_list(read_keys));
  BENTO_ASSIGN(const PlistHandle writing,
               bento_list(keys_of(container.get(), bytes, settings.keys)));
  BENTO_TRY(allow_all_formats(writing.get()));
  const QuietErrors quiet;
  const FileHandle old(H5Fopen(from.c_str(), H5F_ACC_RDONLY, reading.get()));
  if (!old.valid())
    return fail(Code::kNotFound,
                fmt::format("'{}' cannot be opened as an HDF5 file: {}", from, innermost_error()));
  const PlistHandle creation(H5Pcreate(H5P_FILE_CREATE));
  const GroupHandle root(H5Gopen2(old.get(), "/", H5P_DEFAULT));
  BENTO_TRY(copy_group_properties(root.get(), creation.get()));
  const unsigned flags = settings.into_empty_file ? H5F_ACC_TRUNC : H5F_ACC_EXCL;
  FileHandle made(H5Fcreate(to.c_str(), flags, creation.get(), writing.get()));
  if (!made.valid())
    return fail(Code::kIo, fmt::format("'{}' cannot be created: {}", to, innermost_error()));
  Status done;
  {
    auto dropped = Copy(old.get(), made.get(), container.get(), settings).run();
    if (dropped)
      report.dropped = *dropped;
    else
      done = fail(std::move(dropped).error());
  }
  // That the step is gone says more than what came of it.
  if (container) BENTO_TRY(container->confirm_read(done.has_value()));
  BENTO_TRY(std::move(done));
  if (H5Fclose(made.release()) < 0)
    return fail(Code::kIo, fmt::format("'{}' cannot be completed: {}", to, innermost_error()));
  return report;
}

}  // namespace bento::vol
