// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "vol/mpi/mpi_remote_memory.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "core/io/process_life.hpp"
#include "vol/mpi/backoff.hpp"
#include "vol/mpi/mpi_constants.hpp"
#include "vol/mpi/mpi_state.hpp"

namespace bento::vol {

namespace {

constexpr std::size_t kPieceBytes = 64u << 20;  // MPI counts are int
constexpr std::size_t kKeptBytes = 1u << 20;    // of the landing place, between fetches

// What a rank stores in its own memory is what others read, without a call of MPI in between.
bool one_memory(MPI_Win window) {
  int* model = nullptr;
  int found = 0;
  return MPI_Win_get_attr(window, MPI_WIN_MODEL, static_cast<void*>(&model), &found) ==
             MPI_SUCCESS &&
         found != 0 && *model == MPI_WIN_UNIFIED;
}

std::string names(std::uint32_t first_rank, bool and_others) {
  return fmt::format("rank {}{}", first_rank, and_others ? " and others" : "");
}

}  // namespace

Result<std::unique_ptr<RemoteMemory>> MpiRemoteMemory::open(MPI_Comm comm, double timeout_s,
                                                            Processes here) {
  MPI_Win window{};
  if (MPI_Win_create_dynamic(mpi_constants().info_null, comm, &window) != MPI_SUCCESS)
    return fail(Code::kUnsupported, "this MPI gives no window for the memory of ranks");
  MPI_Win_set_errhandler(window, mpi_constants().errors_return);
  const bool right = one_memory(window);
  if (!right || MPI_Win_lock_all(MPI_MODE_NOCHECK, window) != MPI_SUCCESS) {
    MPI_Win_free(&window);
    return fail(Code::kUnsupported,
                right ? "this MPI does not let ranks read memory of others at any time"
                      : "in this MPI what a rank stores is not at once what others read");
  }
  return std::unique_ptr<RemoteMemory>(new MpiRemoteMemory(window, timeout_s, std::move(here)));
}

Status MpiRemoteMemory::usable() const {
  if (!broken_.empty()) return fail(Code::kPeer, broken_);
  if (home_.elsewhere())
    return fail(Code::kPeer, "a forked child cannot read the memory of other ranks");
  if (!mpi_alive()) return fail(Code::kPeer, "MPI is finalised: ranks no longer reach each other");
  return {};
}

tl::unexpected<Error> MpiRemoteMemory::broken(std::string why) {
  broken_ = std::move(why);
  return fail(Code::kPeer, broken_);
}

Status MpiRemoteMemory::expose(std::byte* begin, std::uint64_t bytes) {
  BENTO_TRY(usable());
  if (MPI_Win_attach(window_, begin, static_cast<MPI_Aint>(bytes)) == MPI_SUCCESS) return {};
  return fail(Code::kNoSpace,
              fmt::format("MPI cannot make {} bytes of memory readable for other ranks", bytes));
}

Status MpiRemoteMemory::alive(std::uint32_t rank, std::uint64_t address) const {
  const auto process = here_.find(rank);
  if (process == here_.end() || has_memory(process->second, address)) return {};
  return fail(Code::kPeer, fmt::format("rank {} has died: its memory is gone", rank));
}

Status MpiRemoteMemory::begin(const RemotePart& part, std::byte* into) {
  BENTO_TRY(alive(part.rank, part.address));
  for (std::size_t at = 0; at < part.into.size(); at += kPieceBytes) {
    const auto piece = static_cast<int>(std::min(kPieceBytes, part.into.size() - at));
    MPI_Request request = mpi_constants().request_null;
    if (MPI_Rget(into + at, piece, mpi_constants().byte, static_cast<int>(part.rank),
                 static_cast<MPI_Aint>(part.address + at), piece, mpi_constants().byte, window_,
                 &request) != MPI_SUCCESS)
      return fail(Code::kPeer, fmt::format("MPI cannot read memory of rank {}", part.rank));
    requests_.push_back(request);
  }
  return {};
}

Status MpiRemoteMemory::finish(std::uint32_t first_rank, bool and_others) {
  const double until = timeout_s_ > 0 ? now_s() + timeout_s_ : 0;
  Backoff backoff(Backoff::kShortestNapSeconds);
  for (;;) {
    int done = 0;
    const bool failed = MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &done,
                                    MPI_STATUSES_IGNORE) != MPI_SUCCESS;
    if (done != 0 && !failed) return {};
    if (failed)
      return fail(Code::kPeer,
                  fmt::format("MPI cannot reach memory of {}", names(first_rank, and_others)));
    if (backoff.is_late(until))
      return fail(Code::kPeer,
                  fmt::format("memory of {} could not be reached within {} s (timeout=)",
                              names(first_rank, and_others), timeout_s_));
    backoff.pause();
  }
}

Status MpiRemoteMemory::fetch(std::span<const RemotePart> parts) {
  BENTO_TRY(usable());
  std::size_t bytes = 0;
  for (const RemotePart& part : parts) bytes += part.into.size();
  if (bytes == 0) return {};
  if (landing_->size() < bytes) landing_->resize(bytes);
  requests_.clear();
  Status done;
  std::size_t at = 0;
  for (const RemotePart& part : parts) {
    if (done) done = begin(part, landing_->data() + at);
    at += part.into.size();
  }
  if (done && !requests_.empty())
    done = finish(parts.front().rank, parts.front().rank != parts.back().rank);
  if (!done) {
    (void)landing_.release();  // MPI may still write there
    return broken(done.error().text);
  }
  at = 0;
  for (const RemotePart& part : parts) {
    std::memcpy(part.into.data(), landing_->data() + at, part.into.size());
    at += part.into.size();
  }
  if (landing_->size() > kKeptBytes) std::vector<std::byte>().swap(*landing_);
  return {};
}

Status MpiRemoteMemory::put(std::uint32_t rank, std::uint64_t address,
                            std::span<const std::byte> bytes) {
  BENTO_TRY(usable());
  leaving_->assign(bytes.begin(), bytes.end());
  const auto count = static_cast<int>(bytes.size());
  MPI_Request request = mpi_constants().request_null;
  Status done = alive(rank, address);
  if (done && MPI_Rput(leaving_->data(), count, mpi_constants().byte, static_cast<int>(rank),
                       static_cast<MPI_Aint>(address), count, mpi_constants().byte, window_,
                       &request) != MPI_SUCCESS)
    done = fail(Code::kPeer, fmt::format("MPI cannot write to memory of rank {}", rank));
  requests_.assign(1, request);
  if (done) done = finish(rank, false);
  if (done) return {};
  (void)leaving_.release();  // MPI may still read there
  return broken(done.error().text);
}

Status MpiRemoteMemory::settled() const {
  return usable();
}

void MpiRemoteMemory::close() {
  MPI_Win_unlock_all(window_);
  MPI_Win_free(&window_);
  broken_ = "the memory of other ranks is closed";
}

}  // namespace bento::vol
