// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "hdf5/view/dataset_view.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>

#include "hdf5/base/create_unnamed.hpp"
#include "hdf5/data/missing_filter.hpp"
#include "hdf5/data/selection.hpp"
#include "hdf5/data/spaces.hpp"
#include "hdf5/view/adopted_storage.hpp"

namespace bento::vol {

namespace {

constexpr std::uint64_t kCopyPieceBytes = 8u << 20;
// A view must be there soon at a commit, but whole at a close.
constexpr std::uint64_t kMinCopyBudget = 1u << 30;
constexpr std::uint64_t kMinCopyBudgetAtCommits = 64u << 20;
// Elements of variable length are always copied, so they have a budget of their own. A slow disk
// takes that much before the other ranks stop waiting (timeout=).
constexpr std::uint64_t kVariableBudget = std::uint64_t{6} << 30;

// In chunks of less, a dataset is read faster when it is copied.
constexpr std::uint64_t kLeastGridChunk = 4u << 10;
// Pieces of whole rows of so many bytes are read faster through mappings than as chunks,
constexpr std::uint64_t kLargeRows = 512u << 10;
// but for chunks that fit into no chunk cache: it has 1 MiB, and since HDF5 2.0 8 MiB.
constexpr std::uint64_t kBeyondCache = 16u << 20;
// What a dataset of chunks in place may have to be copied all the same: it is held in memory.
constexpr std::uint64_t kMostCopied = 64u << 20;

std::string lacks(const std::string& filter) {
  return fmt::format("the HDF5 library that builds the view has no {}", filter);
}

/// A mapping's names are printf formats.
std::string escaped(const std::string& name) {
  std::string text;
  for (const char c : name) text.append(c == '%' ? 2 : 1, c);
  return text;
}

/// The elements of `box`, in the dataset's type, go into its copy.
Status write_elements(const DivertedDataset& subject, const Box& box, const std::byte* elements,
                      hid_t dataset) {
  const SpaceHandle memory = simple_space(box.count);
  const SpaceHandle file(H5Scopy(subject.space.get()));
  if (!memory.valid() || !file.valid())
    return fail(Code::kInternal, "native view: no space for a copy");
  if (box.rank() > 0) BENTO_TRY(select_box(file.get(), box));
  if (H5Dwrite(dataset, subject.type.get(), memory.get(), file.get(), H5P_DEFAULT, elements) < 0)
    return fail(Code::kInternal, "native view: the copy cannot be written");
  return {};
}

bool is_one_piece(const ViewPieces& pieces, const Dims& extent) {
  return pieces.sources.size() == 1 && pieces.mappings.size() == 1 &&
         pieces.mappings[0].repeat == 1 && pieces.mappings[0].to == Box::whole(extent) &&
         pieces.sources[0].shape == extent;
}

}  // namespace

DatasetViews::DatasetViews(const ViewSettings& settings, ViewJob& job, SourceFiles& sources,
                           hid_t main)
    : settings_(settings),
      job_(job),
      sources_(sources),
      main_(main),
      budget_(settings.copy_bytes != 0
                  ? settings.copy_bytes
                  : std::max(job.closing ? kMinCopyBudget : kMinCopyBudgetAtCommits,
                             job.data_bytes / 10)),
      variable_budget_(settings.copy_bytes != 0
                           ? settings.copy_bytes
                           : (job.closing ? kVariableBudget : kMinCopyBudgetAtCommits)),
      diverted_(job.datasets),
      records_(job) {}

Result<MadeDataset> DatasetViews::make(hid_t from, const H5O_token_t& token, hid_t type,
                                       const std::string& path) {
  const DatasetDeclaration* const diverted = diverted_.find(token);
  if (diverted == nullptr) {
    auto made = make_undiverted(from, main_, type);
    if (made) return made;
    const PlistHandle list(H5Dget_create_plist(from));
    const std::string missing = list.valid() ? missing_filter(list.get()) : std::string();
    return missing.empty() ? std::move(made) : left_out(path, lacks(missing));
  }
  std::optional<DatasetDeclaration> declared;
  if (!job_.committed.empty()) {
    BENTO_ASSIGN(declared, job_.committed.steps().dataset(diverted->number));
  }
  BENTO_ASSIGN(const auto subject, describe_diverted(from, diverted->number, type, path,
                                                     declared ? &*declared : nullptr));
  return make_diverted(subject);
}

// Nobody can write beyond 2^62, where no index is asked (StepIndex::find).
Result<RecordLookup> DatasetViews::find_all(const DivertedDataset& subject) {
  constexpr std::uint64_t kMostElements = (std::uint64_t{1} << 62) - 1;
  Box all = Box::whole(subject.extent);
  for (unsigned d = 0; d < all.rank(); ++d) all.count[d] = std::min(all.count[d], kMostElements);
  return job_.committed.find(subject.number, all);
}

Result<MadeDataset> DatasetViews::make_diverted(
    const std::shared_ptr<const DivertedDataset>& given) {
  const DivertedDataset& subject = *given;
  if (subject.variable) return make_variable(given);
  BENTO_ASSIGN(RecordLookup seen, find_all(subject));
  const std::uint64_t bytes = subject.extent.bytes(subject.element_bytes);
  // What this library cannot decode can still be shown where it lies.
  const std::string missing = missing_filter(subject.dcpl.get());
  if (bytes <= kSmallDatasetBytes && missing.empty() && !seen.pieces.empty())
    return make_small_copy(given, seen);
  BENTO_ASSIGN(const ViewPieces pieces, view_pieces(seen, job_.plan));
  MadeDataset made;
  if (pieces.mappings.empty()) {
    made.dataset =
        create_unnamed(main_, subject.type.get(), subject.space.get(), subject.dcpl.get());
    if (!made.dataset.valid()) return fail(Code::kInternal, "native view: the dataset is refused");
    return made;
  }
  if (is_one_piece(pieces, subject.extent) && pieces.sources[0].file == 0 &&
      (!subject.extendible || pieces.sources[0].encoding == Encoding::kFiltered)) {
    return made_in_place(subject, make_adopted(subject, pieces.sources[0]), missing);
  }
  if (missing.empty() && pieces.mappings.size() > 1) {
    BENTO_ASSIGN(auto grid, make_grid(given, pieces));
    if (grid) return std::move(*grid);
  }
  if (subject.extent.rank() > 0 && pieces.mappings.size() <= settings_.max_mappings)
    return made_in_place(subject, make_mapped(subject, pieces), missing);
  if (bytes <= budget_ && missing.empty()) {
    budget_ -= bytes;
    return make_chunked_copy(given, std::move(seen));
  }
  if (!missing.empty()) return left_out(subject.path, lacks(missing));
  return left_out(
      subject.path,
      fmt::format("{} pieces (limit {}), and a copy of {} bytes is beyond what view_copy= allows",
                  pieces.mappings.size(), settings_.max_mappings, bytes));
}

Result<MadeDataset> DatasetViews::make_variable(
    const std::shared_ptr<const DivertedDataset>& given) {
  const std::string missing = missing_filter(given->dcpl.get());
  if (!missing.empty()) return left_out(given->path, lacks(missing));
  BENTO_ASSIGN(const RecordLookup seen, find_all(*given));
  const std::uint64_t bytes = stored_bytes(seen);
  if (bytes > variable_budget_)
    return left_out(given->path,
                    fmt::format("its variable-length elements have {} bytes, and {} of "
                                "such copies are left (view_copy=)",
                                bytes, variable_budget_));
  variable_budget_ -= bytes;
  return make_variable_copy(records_, given, main_);
}

// Without a filter that a creation list calls for, the library refuses the list.
Result<MadeDataset> DatasetViews::made_in_place(const DivertedDataset& subject,
                                                Result<DatasetHandle> dataset,
                                                const std::string& missing) {
  if (!dataset && !missing.empty()) return left_out(subject.path, lacks(missing));
  MadeDataset made;
  BENTO_ASSIGN(made.dataset, std::move(dataset));
  return made;
}

MadeDataset DatasetViews::left_out(const std::string& path, const std::string& why) {
  MadeDataset made;
  made.why_not = why;
  note_left_out(path, why);
  return made;
}

void DatasetViews::note_left_out(const std::string& path, const std::string& why) {
  notes_.push_back(fmt::format("'{}' is not in the native view: {}", path, why));
}

// --- chunks in place
// -------------------------------------------------------------------------------------------------

// Where there may be mappings: what is faster to read. HDF5 reads a chunk through its chunk cache,
// which copies it, if it fits in there (docs/benchmarks.md).
bool DatasetViews::is_worth_it(const ViewGrid& grid, const DivertedDataset& subject, bool filtered,
                               std::size_t mappings) const {
  const std::uint64_t chunk = grid.chunk.bytes(subject.element_bytes);
  const bool few = mappings <= settings_.max_mappings;
  if (chunk < kLeastGridChunk && !(filtered && few)) return false;
  if (filtered || !few || chunk >= kBeyondCache) return true;
  const bool rows =
      is_contiguous_in(Box::whole(subject.extent), {grid.chunks[0].start, grid.chunk});
  const std::uint64_t in_place = chunk * grid.chunks.size();
  return !rows || in_place / mappings < kLargeRows;
}

Result<std::optional<MadeDataset>> DatasetViews::make_grid(
    const std::shared_ptr<const DivertedDataset>& given, const ViewPieces& pieces) {
  const DivertedDataset& subject = *given;
  std::optional<MadeDataset> made;
  const int filters = H5Pget_nfilters(subject.dcpl.get());
  if (filters < 0) return fail(Code::kInternal, "native view: a creation list is unreadable");
  auto grid = view_grid(pieces, subject.extent, subject.element_bytes, filters > 0);
  if (!grid || grid->copied_bytes > kMostCopied) return made;
  // A view of a commit is made anew at each, and what was copied for the last one waits for its
  // readers.
  if (!job_.closing && !grid->copied.empty()) return made;
  if (!is_worth_it(*grid, subject, filters > 0, pieces.mappings.size())) return made;
  // Read first: damaged elements are no reason to have no view.
  auto copied = std::make_shared<std::vector<std::vector<std::byte>>>();
  for (const Box& box : grid->copied) {
    std::vector<std::byte> elements(
        static_cast<std::size_t>(box.count.bytes(subject.element_bytes)));
    if (auto read = read_elements(records_, subject, box, elements.data(), decoded_); !read) {
      if (costs_one_dataset(read.error())) return made;
      return fail(std::move(read).error());
    }
    copied->push_back(std::move(elements));
  }
  made.emplace();
  BENTO_ASSIGN(made->dataset, create_chunked(main_, grid->chunk, subject.type.get(),
                                             subject.space.get(), subject.dcpl.get(), filters > 0));
  made->fill = [this, given, copied, grid = std::move(*grid)](hid_t dataset) -> Status {
    BENTO_TRY(adopt_chunks(main_, sources_.main_view(), dataset, grid.chunks));
    for (std::size_t i = 0; i < grid.copied.size(); ++i)
      BENTO_TRY(write_elements(*given, grid.copied[i], (*copied)[i].data(), dataset));
    return {};
  };
  return made;
}

Result<DatasetHandle> DatasetViews::make_adopted(const DivertedDataset& subject,
                                                 const ViewSource& source) {
  BENTO_ASSIGN(const PlistHandle list, list_of_source(source.encoding, subject.dcpl.get()));
  return adopt_source(main_, sources_.main_view(), source, subject.type.get(), subject.space.get(),
                      list.get());
}

// --- mapped
// -------------------------------------------------------------------------------------------------

Result<DatasetHandle> DatasetViews::make_mapped(const DivertedDataset& subject,
                                                const ViewPieces& pieces) {
  // The source's type is never a committed one: it may lie in another file.
  const TypeHandle type(H5Tcopy(subject.type.get()));
  BENTO_ASSIGN(const PlistHandle source_list, contiguous_list(H5P_DATASET_CREATE_DEFAULT));
  const PlistHandle list(H5Pcopy(subject.dcpl.get()));
  if (H5Premove_filter(list.get(), H5Z_FILTER_ALL) < 0 ||
      H5Pset_alloc_time(list.get(), H5D_ALLOC_TIME_DEFAULT) < 0 ||
      H5Pset_layout(list.get(), H5D_VIRTUAL) < 0)
    return fail(Code::kInternal, "native view: a virtual layout is refused");

  std::vector<std::string> names(pieces.sources.size());
  for (std::size_t i = 0; i < pieces.sources.size(); ++i) {
    const ViewSource& source = pieces.sources[i];
    const hid_t filters =
        source.encoding == Encoding::kFiltered ? subject.dcpl.get() : source_list.get();
    BENTO_ASSIGN(names[i], sources_.add(source, type.get(), filters,
                                        fmt::format("{}.{}", subject.number, i)));
  }
  const SpaceHandle space(H5Scopy(subject.space.get()));
  for (const ViewMapping& mapping : pieces.mappings) {
    const ViewSource& source = pieces.sources[mapping.source];
    const SpaceHandle from = simple_space(source.shape);
    if (!from.valid()) return fail(Code::kInternal, "native view: no space for a source");
    if (!(mapping.from == Box::whole(source.shape)))
      BENTO_TRY(select_box(from.get(), mapping.from));
    BENTO_TRY(select_boxes(space.get(), mapping.to, mapping.dim, mapping.repeat, mapping.stride));
    if (H5Pset_virtual(list.get(), space.get(), escaped(sources_.file_name(source.file)).c_str(),
                       names[mapping.source].c_str(), from.get()) < 0)
      return fail(Code::kInternal, "native view: a mapping is refused");
  }
  DatasetHandle dataset(
      H5Dcreate_anon(main_, subject.type.get(), subject.space.get(), list.get(), H5P_DEFAULT));
  if (!dataset.valid()) return fail(Code::kInternal, "native view: the virtual dataset is refused");
  return dataset;
}

// --- copied
// -------------------------------------------------------------------------------------------------

// As it was created. Read first: damaged elements are no reason to have no view of other datasets.
Result<MadeDataset> DatasetViews::make_small_copy(
    const std::shared_ptr<const DivertedDataset>& given, const RecordLookup& seen) {
  const Box box = Box::whole(given->extent);
  std::vector<std::byte> elements(static_cast<std::size_t>(box.elements() * given->element_bytes));
  if (auto read = read_found(records_, *given, seen, box, elements.data(), decoded_); !read) {
    if (!costs_one_dataset(read.error())) return fail(std::move(read).error());
    return left_out(given->path, "its data cannot be read: " + read.error().text);
  }
  MadeDataset made;
  made.dataset = create_unnamed(main_, given->type.get(), given->space.get(), given->dcpl.get());
  if (!made.dataset.valid()) return fail(Code::kInternal, "native view: the copy is refused");
  made.fill = [given, elements = std::move(elements)](hid_t dataset) -> Status {
    if (H5Dwrite(dataset, given->type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, elements.data()) < 0)
      return fail(Code::kInternal, "native view: the copy cannot be written");
    return {};
  };
  return made;
}

// Chunked, so that it lies in chunks of the container where they are large enough.
Result<MadeDataset> DatasetViews::make_chunked_copy(
    const std::shared_ptr<const DivertedDataset>& given, RecordLookup seen) {
  constexpr std::uint64_t kChunkBytes = 1u << 20;
  const DivertedDataset& subject = *given;
  const PlistHandle list(H5Pcopy(subject.dcpl.get()));
  Dims chunk = subject.extent;
  for (unsigned d = 0; d < chunk.rank(); ++d)
    while (chunk[d] > 1 && chunk.bytes(subject.element_bytes) > kChunkBytes)
      chunk[d] = (chunk[d] + 1) / 2;
  std::array<hsize_t, kMaxRank> dims{};
  for (unsigned d = 0; d < chunk.rank(); ++d) dims[d] = chunk[d];
  if (H5Pset_chunk(list.get(), static_cast<int>(chunk.rank()), dims.data()) < 0)
    return fail(Code::kInternal, "native view: a chunked copy is refused");
  MadeDataset made;
  made.dataset = DatasetHandle(
      H5Dcreate_anon(main_, subject.type.get(), subject.space.get(), list.get(), H5P_DEFAULT));
  if (!made.dataset.valid()) return fail(Code::kInternal, "native view: the copy is refused");
  std::shared_ptr<const RecordLookup> found;
  if (subject.extent.bytes(subject.element_bytes) <= kCopyPieceBytes)
    found = std::make_shared<const RecordLookup>(std::move(seen));
  made.fill = [this, given, found](hid_t dataset) {
    return copy_elements(*given, found.get(), dataset);
  };
  return made;
}

// `seen` is what was found of the whole dataset. To find many records costs as much as to read
// them, so it is kept where all is copied at once; null: the index is asked for each part.
Status DatasetViews::copy_elements(const DivertedDataset& subject, const RecordLookup* seen,
                                   hid_t dataset) {
  const Box whole = Box::whole(subject.extent);
  std::vector<std::byte> buffer;
  return for_each_part(
      whole, std::max<std::uint64_t>(1, kCopyPieceBytes / subject.element_bytes),
      [&](const Box& box) -> Status {
        buffer.resize(static_cast<std::size_t>(box.elements() * subject.element_bytes));
        BENTO_TRY(seen != nullptr && box == whole
                      ? read_found(records_, subject, *seen, box, buffer.data(), decoded_)
                      : read_elements(records_, subject, box, buffer.data(), decoded_));
        return write_elements(subject, box, buffer.data(), dataset);
      });
}

// --- records
// ------------------------------------------------------------------------------------------------

Result<RecordLookup> DatasetViews::Records::find(DatasetNumber dataset, const Box& selection) {
  return job_.committed.find(dataset, selection);
}

Status DatasetViews::Records::read(const Record& record, std::uint64_t element_bytes,
                                   const Box& part, const Box& to_box, std::byte* to) {
  return job_.reader.read(record, element_bytes, part, to_box, to);
}

Result<std::vector<std::byte>> DatasetViews::Records::read_stored(const Record& record) {
  return job_.reader.read_stored(record);
}

}  // namespace bento::vol
