// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "tests/support/thread_comm.hpp"

#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/comm/rank_tree.hpp"

namespace bento::test {
namespace {

enum class Call { kGather, kCombine, kBroadcast, kShift };
std::string_view name_of(Call call) {
  switch (call) {
    case Call::kGather:
      return "gather";
    case Call::kCombine:
      return "combine";
    case Call::kBroadcast:
      return "broadcast";
    case Call::kShift:
      break;
  }
  return "shift";
}

/// One collective: what each rank has brought so far.
struct Meeting {
  std::optional<Call> call;
  int distance = 0;  // of a shift
  std::vector<std::optional<Bytes>> brought;
  std::size_t finished = 0;  // ranks that are through; the last one clears up
};

}  // namespace

struct ThreadGroup::State {
  State(int ranks, std::chrono::milliseconds limit)
      : size(static_cast<std::size_t>(ranks)),
        deadline(limit),
        left(size, false),
        waits_for(size),
        waits_in(size) {}

  std::mutex mutex;
  std::condition_variable changed;
  std::size_t size;
  std::chrono::milliseconds deadline;
  std::vector<bool> left;
  std::vector<std::vector<std::size_t>> waits_for;  // of each rank that is waiting now
  std::vector<std::uint64_t> waits_in;              // the number of the call, of such a rank
  std::map<std::uint64_t, Meeting> meetings;        // by the number of the collective call
  std::optional<Error> broken;

  /// The ranks that hold up the others: one that only waits itself is not to blame, those it waits
  /// for are.
  [[nodiscard]] std::set<std::size_t> culprits(const std::vector<std::size_t>& missing) const {
    std::set<std::size_t> seen;
    std::set<std::size_t> found;
    std::vector<std::size_t> open = missing;
    while (!open.empty()) {
      const std::size_t rank = open.back();
      open.pop_back();
      if (!seen.insert(rank).second) continue;
      if (waits_for[rank].empty()) found.insert(rank);
      open.insert(open.end(), waits_for[rank].begin(), waits_for[rank].end());
    }
    return found;
  }

  /// Who waits for the rank may wake up only when that has left.
  void arrives(std::uint64_t number, std::size_t rank) {
    for (std::size_t other = 0; other < size; ++other)
      if (waits_in[other] == number) std::erase(waits_for[other], rank);
    changed.notify_all();
  }

  Error break_up(Error error) {
    if (!broken) broken = std::move(error);
    changed.notify_all();
    return *broken;
  }
};

namespace {

class ThreadCommunicator final : public Communicator {
 public:
  ThreadCommunicator(std::shared_ptr<ThreadGroup::State> state, int rank)
      : state_(std::move(state)), rank_(rank) {}

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return static_cast<int>(state_->size); }

  Result<std::vector<Bytes>> gather(std::span<const std::byte> payload) override {
    return collect(Call::kGather, payload);
  }

  // Pairs of neighbours, then pairs of pairs: as a tree does it.
  Result<Bytes> combine(std::span<const std::byte> payload, const Merge& merge) override {
    BENTO_ASSIGN(std::vector<Bytes> parts, collect(Call::kCombine, payload));
    if (rank_ != 0) return Bytes{};
    while (parts.size() > 1) {
      std::vector<Bytes> above;
      for (std::size_t i = 0; i < parts.size(); i += 2)
        above.push_back(i + 1 < parts.size() ? merge(parts[i], parts[i + 1]) : parts[i]);
      parts = std::move(above);
    }
    return parts.front();
  }

  Result<Bytes> broadcast(std::span<const std::byte> payload) override {
    std::unique_lock lock(state_->mutex);
    BENTO_ASSIGN(Meeting* const meeting, enter(Call::kBroadcast, payload));
    return bytes_of(lock, *meeting, 0);
  }

  Result<Bytes> shift(int distance, std::span<const std::byte> payload) override {
    std::unique_lock lock(state_->mutex);
    BENTO_ASSIGN(Meeting* const meeting, enter(Call::kShift, payload, distance));
    return bytes_of(lock, *meeting, further_by(rank_, -distance, size()));
  }

 private:
  Result<Bytes> bytes_of(std::unique_lock<std::mutex>& lock, Meeting& meeting, int from) {
    const auto rank = static_cast<std::size_t>(from);
    BENTO_TRY(wait_for(lock, meeting, {rank}));
    Bytes bytes = *meeting.brought[rank];
    finish(meeting);
    return bytes;
  }

  Result<std::vector<Bytes>> collect(Call call, std::span<const std::byte> payload) {
    std::unique_lock lock(state_->mutex);
    BENTO_ASSIGN(Meeting* const meeting, enter(call, payload));
    std::vector<Bytes> all;
    if (rank_ == 0) {
      std::vector<std::size_t> everybody(state_->size);
      for (std::size_t i = 0; i < everybody.size(); ++i) everybody[i] = i;
      BENTO_TRY(wait_for(lock, *meeting, everybody));
      for (auto& bytes : meeting->brought) all.push_back(*bytes);
    }
    finish(*meeting);
    return all;
  }

  Result<Meeting*> enter(Call call, std::span<const std::byte> payload, int distance = 0) {
    if (state_->broken) return fail(*state_->broken);
    number_ = next_++;
    Meeting& meeting = state_->meetings[number_];
    meeting.brought.resize(state_->size);
    if (!meeting.call) {
      meeting.call = call;
      meeting.distance = distance;
    }
    if (*meeting.call != call || meeting.distance != distance)
      return fail(state_->break_up(Error{
          Code::kInternal,
          fmt::format("collective call {}: rank {} is in {} {}, others are in {} {}", number_,
                      rank_, name_of(call), distance, name_of(*meeting.call), meeting.distance)}));
    meeting.brought[static_cast<std::size_t>(rank_)].emplace(payload.begin(), payload.end());
    state_->arrives(number_, static_cast<std::size_t>(rank_));
    return &meeting;
  }

  Status wait_for(std::unique_lock<std::mutex>& lock, Meeting& meeting,
                  const std::vector<std::size_t>& ranks) {
    const auto until = std::chrono::steady_clock::now() + state_->deadline;
    auto& mine = state_->waits_for[static_cast<std::size_t>(rank_)];
    state_->waits_in[static_cast<std::size_t>(rank_)] = number_;
    for (bool late = false;;) {
      mine.clear();
      for (const auto rank : ranks) {
        if (!meeting.brought[rank]) mine.push_back(rank);
      }
      if (mine.empty()) return {};
      if (state_->broken) return fail(*state_->broken);
      std::set<std::size_t> named = state_->culprits(mine);
      if (!late) std::erase_if(named, [&](auto rank) { return !state_->left[rank]; });
      if (!named.empty())
        return fail(state_->break_up(Error{
            Code::kPeer, fmt::format("{} {}: no answer from rank{} {} within {} ms",
                                     name_of(*meeting.call), number_, named.size() == 1 ? "" : "s",
                                     fmt::join(named, ", "), state_->deadline.count())}));
      late = state_->changed.wait_until(lock, until) == std::cv_status::timeout;
    }
  }

  void finish(Meeting& meeting) {
    if (++meeting.finished == state_->size) state_->meetings.erase(number_);
  }

  std::shared_ptr<ThreadGroup::State> state_;
  int rank_;
  std::uint64_t next_ = 0;
  std::uint64_t number_ = 0;
};

}  // namespace

ThreadGroup::ThreadGroup(int size, std::chrono::milliseconds deadline)
    : state_(std::make_shared<State>(size, deadline)) {}
ThreadGroup::~ThreadGroup() = default;

std::unique_ptr<Communicator> ThreadGroup::communicator(int rank) {
  return std::make_unique<ThreadCommunicator>(state_, rank);
}

void ThreadGroup::leave(int rank) {
  const std::scoped_lock lock(state_->mutex);
  state_->left[static_cast<std::size_t>(rank)] = true;
  state_->changed.notify_all();
}

std::vector<Status> run_ranks(int size, const std::function<Status(Communicator&)>& body,
                              std::chrono::milliseconds deadline) {
  ThreadGroup group(size, deadline);
  std::vector<Status> results(static_cast<std::size_t>(size));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      const auto communicator = group.communicator(rank);
      results[static_cast<std::size_t>(rank)] = body(*communicator);
      group.leave(rank);
    });
  }
  for (auto& thread : threads) thread.join();
  return results;
}

}  // namespace bento::test
