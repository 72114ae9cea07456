// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "vol/mpi/mpi_comm.hpp"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <set>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/base/hash.hpp"
#include "core/bytes/byte_reader.hpp"
#include "core/bytes/byte_writer.hpp"
#include "core/comm/gathered.hpp"
#include "core/comm/rank_tree.hpp"
#include "core/io/process_life.hpp"
#include "vol/mpi/backoff.hpp"
#include "vol/mpi/mpi_constants.hpp"
#include "vol/mpi/mpi_remote_memory.hpp"
#include "vol/mpi/mpi_state.hpp"

namespace bento::vol {

namespace {

constexpr int kTagUp = 1;
constexpr int kTagDown = 2;
constexpr int kTagGone = 3;  // to rank 0: the sender has given up and says why
constexpr int kTagMore = 4;  // the rest of a message above kPieceBytes
constexpr int kTagShift = 5;
constexpr int kTagNews = 6;  // to any other rank: it is all over
constexpr std::size_t kPieceBytes =
    64u << 20;                           // MPI counts are int; each piece has a deadline of its own
constexpr std::size_t kNamedRanks = 16;  // an error text must fit into a message that MPI buffers
constexpr std::size_t kHeadBytes = kMessageHeadBytes;
enum Kind : std::uint8_t {
  kData = 0,
  kMissing = 1,  ///< up: the ranks that did not answer
  kGaveUp = 2,   ///< news that its receiver passes on: the sender goes on alone; an error text
  kVerdict = 3,  ///< news that goes to every rank: an error text
};

constexpr double kNapWhileMovingSeconds = Backoff::kShortestNapSeconds;  // bytes are under way
constexpr double kNapWhileWaitingSeconds = 1e-3;                         // for somebody to come

std::shared_ptr<const Bytes> make_message(std::uint64_t sequence, Kind kind,
                                          std::span<const std::byte> body) {
  ByteWriter out;
  out.u64(sequence);
  out.u64(kHeadBytes + body.size());
  out.u8(kind);
  out.bytes(body);
  return std::make_shared<const Bytes>(std::move(out).take());
}

Kind kind_of(const Bytes& message) {
  return static_cast<Kind>(message[kHeadBytes - 1]);
}

std::string text_of(const Bytes& message) {
  return {reinterpret_cast<const char*>(message.data()) + kHeadBytes, message.size() - kHeadBytes};
}

std::string name_ranks(const std::vector<int>& ranks) {
  const std::size_t named = std::min(ranks.size(), kNamedRanks);
  std::string text = fmt::format(
      "rank{} {}", ranks.size() == 1 ? "" : "s",
      fmt::join(ranks.begin(), ranks.begin() + static_cast<std::ptrdiff_t>(named), ", "));
  if (named < ranks.size()) text += fmt::format(" and {} more", ranks.size() - named);
  return text;
}

std::string did_not_answer(const std::vector<int>& ranks, double timeout_s) {
  return fmt::format("{} did not answer within {} s (timeout=)", name_ranks(ranks), timeout_s);
}

/// Keeps a message until the process ends. It stays within reach of a leak checker, which would
/// otherwise call it lost.
void leave_to_mpi(std::shared_ptr<const Bytes> message) {
  static std::mutex mutex;
  static auto& left = *new std::vector<std::shared_ptr<const Bytes>>;
  const std::scoped_lock lock(mutex);
  left.push_back(std::move(message));
}

}  // namespace

MpiCommunicator::MpiCommunicator(MPI_Comm comm, double timeout_s, std::string path)
    : comm_(comm), timeout_s_(timeout_s), path_(std::move(path)) {}

Result<std::unique_ptr<MpiCommunicator>> MpiCommunicator::take(MPI_Comm comm, double timeout_s,
                                                               std::string path) {
  if (!mpi_alive()) return fail(Code::kPeer, "MPI is not initialised, or finalised already");
  auto made =
      std::unique_ptr<MpiCommunicator>(new MpiCommunicator(comm, timeout_s, std::move(path)));
  MPI_Comm_set_errhandler(comm, mpi_constants().errors_return);
  MPI_Comm_rank(comm, &made->rank_);
  MPI_Comm_size(comm, &made->size_);
  return made;
}

MpiCommunicator::~MpiCommunicator() {
  if (home_.elsewhere() || !mpi_alive()) return;
  const double until = deadline(1, 0);
  Backoff backoff(kNapWhileMovingSeconds);
  while (!reap() && broken_.empty()) {
    if (backoff.is_late(until)) break;
    backoff.pause();
  }
  // A send to a rank that is gone never completes. MPI may still read its buffer, so that is left
  // to it; and MPI_Comm_free would wait.
  for (auto& message : sent_) leave_to_mpi(std::move(message.message));
  if (broken_.empty() && sent_.empty()) MPI_Comm_free(&comm_);
}

Status MpiCommunicator::usable() const {
  if (!broken_.empty()) return failure(broken_);
  if (home_.elsewhere())
    return failure(
        fmt::format("this is a forked child of process {}, the rank that opened the file: only "
                    "that can talk to the other ranks",
                    home_.id()));
  if (size_ > 1 && !mpi_alive())
    return failure(
        "MPI is finalised: the ranks of this file can no longer agree; close files before "
        "MPI_Finalize");
  return {};
}

tl::unexpected<Error> MpiCommunicator::failure(std::string_view why) const {
  return fail(Code::kPeer, fmt::format("'{}': {}", path_, why));
}

tl::unexpected<Error> MpiCommunicator::broken(std::string why) {
  broken_ = std::move(why);
  return failure(broken_);
}

tl::unexpected<Error> MpiCommunicator::give_up(std::string why, bool as_rank_0) {
  // Rank 0 tells everybody directly, since the tree may have a gap; so does who finds that rank 0
  // is gone, of those who wait for it in a shift. Any other rank tells those who wait for it in the
  // tree, and rank 0, which would finish the step alone if it came late.
  const bool all = rank_ == 0 || as_rank_0;
  const auto message =
      make_message(sequence_, all ? kVerdict : kGaveUp, std::as_bytes(std::span(why)));
  if (rank_ != 0) (void)send(0, kTagGone, message);
  if (all) {
    for (int rank = 1; rank < size_; ++rank)
      if (rank != rank_) (void)send(rank, kTagNews, message);
  } else {
    for (const int child : children_of(rank_, size_)) (void)send(child, kTagNews, message);
  }
  reap();
  return broken(std::move(why));
}

// News has a tag of its own: a rank that waits for something else can take it without taking what
// belongs to a later collective of its own.
Status MpiCommunicator::heed_news() {
  int found = 0;
  MPI_Message message{};
  MPI_Status status{};
  if (MPI_Improbe(MPI_ANY_SOURCE, rank_ == 0 ? kTagGone : kTagNews, comm_, &found, &message,
                  &status) != MPI_SUCCESS ||
      found == 0)
    return {};
  BENTO_ASSIGN(const Bytes news, take_pieces(message, status));
  if (rank_ == 0)
    return give_up(fmt::format("rank {} gave up: {}", status.MPI_SOURCE, text_of(news)));
  if (kind_of(news) == kVerdict) return broken(text_of(news));
  return give_up(text_of(news));
}

/// Levels of the tree differ in how long they wait, so that the rank nearest to a gap reports it
/// first.
double MpiCommunicator::deadline(double factor, int levels) const {
  if (!(timeout_s_ > 0)) return 0;
  const double grace = 0.2 + 0.05 * timeout_s_;
  return now_s() + factor * timeout_s_ + grace * levels;
}

bool MpiCommunicator::Sent::is_done() {
  int done = 0;
  MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done, MPI_STATUSES_IGNORE);
  return done != 0;
}

bool MpiCommunicator::reap() {
  while (!sent_.empty()) {
    if (!sent_.front().is_done()) return false;
    sent_.pop_front();
  }
  return true;
}

std::vector<int> MpiCommunicator::who_has_not_taken() {
  std::set<int> ranks;
  for (Sent& sent : sent_)
    if (!sent.is_done()) ranks.insert(sent.to);
  return {ranks.begin(), ranks.end()};
}

Status MpiCommunicator::send(int to, int tag, const std::shared_ptr<const Bytes>& message) {
  auto& sent = sent_.emplace_back();
  sent.to = to;
  sent.message = message;
  for (std::size_t at = 0; at < message->size(); at += kPieceBytes) {
    const std::size_t piece = std::min(kPieceBytes, message->size() - at);
    if (MPI_Isend(message->data() + at, static_cast<int>(piece), mpi_constants().byte, to,
                  at == 0 ? tag : kTagMore, comm_,
                  &sent.requests.emplace_back(mpi_constants().request_null)) != MPI_SUCCESS)
      return broken(fmt::format("MPI refused a message to rank {}", to));
  }
  return {};
}

Result<Bytes> MpiCommunicator::receive(int from, int tag, double deadline_s) {
  Backoff backoff(kNapWhileWaitingSeconds);
  for (;;) {
    int found = 0;
    MPI_Message first{};
    MPI_Status status{};
    if (MPI_Improbe(from, tag, comm_, &found, &first, &status) != MPI_SUCCESS)
      return give_up("MPI failed while waiting for a message");
    if (found == 0) {
      BENTO_TRY(heed_news());
      reap();
      if (backoff.is_late(deadline_s)) return fail(Code::kPeer, "deadline passed");
      backoff.pause();
      continue;
    }
    BENTO_ASSIGN(Bytes message, take_pieces(first, status));
    ByteReader in(message, std::endian::little, "message");
    BENTO_ASSIGN(const std::uint64_t sequence, in.u64());
    // A message with an older number is left over from a collective that was given up.
    if (sequence == sequence_) return message;
  }
}

Result<Bytes> MpiCommunicator::take_pieces(MPI_Message first, const MPI_Status& status) {
  int count = 0;
  MPI_Get_count(&status, mpi_constants().byte, &count);
  auto buffer = std::make_unique<Bytes>(static_cast<std::size_t>(count));
  MPI_Request request = mpi_constants().request_null;
  if (MPI_Imrecv(buffer->data(), count, mpi_constants().byte, &first, &request) != MPI_SUCCESS)
    return give_up("MPI failed while taking a message");
  BENTO_TRY(receive_piece(request, buffer, status.MPI_SOURCE));
  ByteReader in(*buffer, std::endian::little, "message");
  BENTO_TRY(in.skip(8));
  BENTO_ASSIGN(const std::uint64_t total, in.u64());
  if (buffer->size() < kHeadBytes || total < buffer->size())
    return give_up("a message with a wrong header arrived");
  std::size_t at = buffer->size();
  buffer->resize(static_cast<std::size_t>(total));
  for (; at < total; at += kPieceBytes) {
    const std::size_t piece = std::min(kPieceBytes, static_cast<std::size_t>(total) - at);
    if (MPI_Irecv(buffer->data() + at, static_cast<int>(piece), mpi_constants().byte,
                  status.MPI_SOURCE, kTagMore, comm_, &request) != MPI_SUCCESS)
      return give_up("MPI failed while taking a message");
    BENTO_TRY(receive_piece(request, buffer, status.MPI_SOURCE));
  }
  return std::move(*buffer);
}

Status MpiCommunicator::receive_piece(MPI_Request request, std::unique_ptr<Bytes>& buffer,
                                      int from) {
  const double until = deadline(1, 0);
  Backoff backoff(kNapWhileMovingSeconds);
  for (;;) {
    int done = 0;
    const bool failed = MPI_Test(&request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS;
    if (done != 0 && !failed) return {};
    reap();  // who sends to us may be waiting for what we send
    if (failed || backoff.is_late(until)) {
      (void)buffer.release();  // MPI may still write into it
      return give_up(fmt::format("rank {} stopped in the middle of a message for {} s (timeout=)",
                                 from, timeout_s_));
    }
    backoff.pause();
  }
}

Result<std::vector<Bytes>> MpiCommunicator::gather(std::span<const std::byte> payload) {
  BENTO_ASSIGN(const Bytes collected, combine(pack_payload(rank_, payload), &join_payloads));
  if (rank_ != 0) return std::vector<Bytes>{};
  auto all = unpack_payloads(collected, size_);
  if (!all) return give_up(all.error().text);
  return all;
}

// The children of a rank, in ascending order, stand for adjacent ranges of ranks behind it.
Result<Bytes> MpiCommunicator::combine(std::span<const std::byte> payload, const Merge& merge) {
  BENTO_TRY(usable());
  Bytes collected(payload.begin(), payload.end());
  if (size_ == 1) return collected;
  ++sequence_;
  const double until = deadline(1, height_of(rank_, size_) + shifts_);
  std::vector<int> missing;
  for (const int child : children_of(rank_, size_)) {
    auto message = receive(child, kTagUp, until);
    if (!message) {
      if (!broken_.empty()) return fail(std::move(message).error());
      missing.push_back(child);
      continue;
    }
    if (kind_of(*message) == kData) {
      collected = merge(collected, std::span(*message).subspan(kHeadBytes));
      continue;
    }
    ByteReader in(*message, std::endian::little, "list of missing ranks");
    BENTO_TRY(in.skip(kHeadBytes));
    while (in.remaining() >= 4) {
      BENTO_ASSIGN(const std::int32_t rank, in.i32());
      missing.push_back(rank);
    }
  }

  if (rank_ != 0) {
    if (missing.empty()) {
      BENTO_TRY(send(parent_of(rank_), kTagUp, make_message(sequence_, kData, collected)));
    } else {
      ByteWriter list;
      for (const int rank : missing) list.i32(rank);
      BENTO_TRY(send(parent_of(rank_), kTagUp, make_message(sequence_, kMissing, list.view())));
    }
    return Bytes{};
  }
  if (!missing.empty()) return give_up(name_missing(std::move(missing)));
  BENTO_TRY(heed_news());
  return collected;
}

std::string MpiCommunicator::name_missing(std::vector<int> missing) const {
  std::sort(missing.begin(), missing.end());
  std::vector<int> unknown;
  for (const int rank : missing)
    for (int below = rank + 1; below < std::min(size_, rank + (rank & -rank)); ++below)
      if (!std::binary_search(missing.begin(), missing.end(), below)) unknown.push_back(below);
  std::string text = did_not_answer(missing, timeout_s_);
  if (!unknown.empty())
    text += fmt::format(", and nothing is known of {} behind it", name_ranks(unknown));
  return text;
}

Result<Bytes> MpiCommunicator::broadcast(std::span<const std::byte> payload) {
  BENTO_TRY(usable());
  if (size_ == 1) return Bytes(payload.begin(), payload.end());
  ++sequence_;
  // The verdict may come as late as rank 0 may come itself, and wait for the others then.
  const double until = deadline(2, height_of(0, size_) + depth_of(rank_) + shifts_);

  std::shared_ptr<const Bytes> message;
  if (rank_ == 0) {
    BENTO_TRY(heed_news());
    message = make_message(sequence_, kData, payload);
  } else {
    auto received = receive(parent_of(rank_), kTagDown, until);
    if (!received) {
      if (!broken_.empty()) return fail(std::move(received).error());
      return give_up(did_not_answer({parent_of(rank_)}, timeout_s_));
    }
    message = std::make_shared<const Bytes>(std::move(*received));
  }
  const auto children = children_of(rank_, size_);
  for (auto child = children.rbegin(); child != children.rend(); ++child)
    BENTO_TRY(send(*child, kTagDown, message));
  BENTO_TRY(see_off(until));
  shifts_ = 0;
  return Bytes(message->begin() + kHeadBytes, message->end());
}

// A large message only moves while this rank is inside MPI.
Status MpiCommunicator::see_off(double deadline_s) {
  Backoff backoff(kNapWhileMovingSeconds);
  while (!reap()) {
    BENTO_TRY(heed_news());
    if (backoff.is_late(deadline_s))
      return give_up(did_not_answer(who_has_not_taken(), timeout_s_));
    backoff.pause();
  }
  return {};
}

// Neighbours run ahead of each other: a rank that has what it waits for goes on, to a shift of
// another distance, or to a later one in which it sends to the same rank again. Nothing is taken
// too early all the same. Each shift sends exactly one message of this tag from a rank to another
// one, and takes exactly one of this tag from the one rank that sends to it. All ranks make the
// same calls, so the n-th message that this rank asks of another is the n-th which that one sends
// here, whatever the distances were; and MPI gives out messages of one sender and one tag in the
// order in which they were sent. The same holds for the pieces of large ones. So the number of a
// message that is taken is always that of this call, unless a call was given up, and then there is
// no later one.
//
// Who waits in a shift may wait for a rank that is still in an earlier one, so later ones wait
// longer, as parents in the tree do: the rank next to the missing one reports it first.
Result<Bytes> MpiCommunicator::shift(int distance, std::span<const std::byte> payload) {
  BENTO_TRY(usable());
  const int to = further_by(rank_, distance, size_);
  const int from = further_by(rank_, -distance, size_);
  if (to == rank_) return Bytes(payload.begin(), payload.end());
  ++sequence_;
  const double until = deadline(1, shifts_++);
  BENTO_TRY(send(to, kTagShift, make_message(sequence_, kData, payload)));
  auto received = receive(from, kTagShift, until);
  if (!received) {
    if (!broken_.empty()) return fail(std::move(received).error());
    return give_up(did_not_answer({from}, timeout_s_), from == 0);
  }
  BENTO_TRY(see_off(until));
  BENTO_TRY(heed_news());
  return Bytes(received->begin() + kHeadBytes, received->end());
}

// Any call would do. This one looks for what no rank sends: a message to itself.
void MpiCommunicator::progress() {
  if (size_ == 1 || !usable()) return;
  int found = 0;
  MPI_Message message{};
  MPI_Status status{};
  MPI_Improbe(rank_, kTagGone, comm_, &found, &message, &status);
  reap();
}

Result<std::unique_ptr<RemoteMemory>> MpiCommunicator::open_remote_memory() {
  BENTO_TRY(usable());
  BENTO_ASSIGN(auto here, processes_here());
  return MpiRemoteMemory::open(comm_, timeout_s_, std::move(here));
}

namespace {
// Of all communicators: how MPI reaches a rank depends on where that is. Never destroyed: files may
// be opened after static destructors have run.
std::set<Hash128>& reached_at_rest() {
  static auto* const nodes = new std::set<Hash128>;
  return *nodes;
}
}  // namespace

bool MpiCommunicator::reaches_at_rest(const Hash128& nodes) const {
  return reached_at_rest().contains(nodes);
}

void MpiCommunicator::note_reaches_at_rest(const Hash128& nodes) {
  reached_at_rest().insert(nodes);
}

// Collective.
Result<std::map<std::uint32_t, pid_t>> MpiCommunicator::processes_here() {
  const std::string space = process_space();
  ByteWriter own;
  own.bytes(hash128(std::as_bytes(std::span(space))));
  own.u32(space.empty() ? 0 : static_cast<std::uint32_t>(home_.id()));
  BENTO_ASSIGN(const auto gathered, gather(own.view()));
  ByteWriter out;
  for (const Bytes& one : gathered) out.bytes(one);
  BENTO_ASSIGN(const Bytes all, broadcast(out.view()));
  std::map<std::uint32_t, pid_t> here;
  ByteReader in(all, std::endian::little, "processes of ranks");
  for (std::uint32_t rank = 0; in.remaining() != 0; ++rank) {
    BENTO_ASSIGN(const auto key, in.bytes(sizeof(Hash128)));
    BENTO_ASSIGN(const std::uint32_t process, in.u32());
    if (process != 0 && std::ranges::equal(key, hash128(std::as_bytes(std::span(space)))))
      here[rank] = static_cast<pid_t>(process);
  }
  return here;
}

}  // namespace bento::vol
