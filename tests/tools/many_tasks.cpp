// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
//
//   many_tasks BASE FILE TASKS    writes the container FILE by so many ranks: each writes one row
//   of
//                                 the one dataset that BASE has
//
// The ranks are contexts of one thread that take turns whenever one has to wait for another: ten
// thousand threads, or processes, would take minutes.
#include <ucontext.h>

#include <cstdio>
#include <cstdlib>
#include <map>

#include "core/comm/rank_tree.hpp"
#include "core/container/container.hpp"

namespace {

using namespace bento;

/// What the ranks bring to one collective call.
struct Meeting {
  std::map<int, Bytes> brought;
  bool answered = false;
  Bytes answer;
};

class Ranks {
 public:
  using Body = std::function<Status(int rank)>;
  Ranks(int size, Body body) : size_(size), body_(std::move(body)) {
    constexpr std::size_t kStackBytes = 256u << 10;
    contexts_.resize(static_cast<std::size_t>(size));
    stacks_.resize(contexts_.size());
    results_.resize(contexts_.size());
    for (std::size_t rank = 0; rank < contexts_.size(); ++rank) {
      stacks_[rank].reset(new char[kStackBytes]);  // NOLINT: never touched as a whole
      getcontext(&contexts_[rank]);
      contexts_[rank].uc_stack.ss_sp = stacks_[rank].get();
      contexts_[rank].uc_stack.ss_size = kStackBytes;
      contexts_[rank].uc_link = &main_;
      makecontext(&contexts_[rank], &Ranks::enter, 0);
    }
  }

  Status run() {
    running_ = this;
    std::vector<bool> ended(contexts_.size());
    for (std::size_t left = contexts_.size(); left > 0;)
      for (std::size_t rank = 0; rank < contexts_.size(); ++rank) {
        if (ended[rank]) continue;
        now_ = static_cast<int>(rank);
        done_ = false;
        swapcontext(&main_, &contexts_[rank]);
        if (!done_) continue;
        ended[rank] = true;
        --left;
        BENTO_TRY(results_[rank]);
      }
    return {};
  }

  [[nodiscard]] int size() const { return size_; }
  Meeting& meeting(std::uint64_t number) { return meetings_[number]; }
  /// Lets the others go on.
  void wait() { swapcontext(&contexts_[static_cast<std::size_t>(now_)], &main_); }

 private:
  static void enter() {
    Ranks& ranks = *running_;
    const int rank = ranks.now_;
    ranks.results_[static_cast<std::size_t>(rank)] = ranks.body_(rank);
    ranks.done_ = true;
  }

  static inline Ranks* running_ = nullptr;
  int size_;
  Body body_;
  int now_ = 0;
  bool done_ = false;
  ucontext_t main_{};
  std::vector<ucontext_t> contexts_;
  std::vector<std::unique_ptr<char[]>> stacks_;
  std::vector<Status> results_;
  std::map<std::uint64_t, Meeting> meetings_;
};

class TurnCommunicator final : public Communicator {
 public:
  TurnCommunicator(Ranks& ranks, int rank) : ranks_(ranks), rank_(rank) {}
  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return ranks_.size(); }

  Result<std::vector<Bytes>> gather(std::span<const std::byte> payload) override {
    Meeting& meeting = bring(payload);
    std::vector<Bytes> all;
    if (rank_ != 0) return all;
    for (auto& [rank, bytes] : everybody(meeting)) all.push_back(std::move(bytes));
    return all;
  }
  Result<Bytes> combine(std::span<const std::byte> payload, const Merge& merge) override {
    Meeting& meeting = bring(payload);
    if (rank_ != 0) return Bytes{};
    // As a tree, so that no payload is copied ten thousand times.
    std::vector<Bytes> level;
    for (auto& [rank, bytes] : everybody(meeting)) level.push_back(std::move(bytes));
    while (level.size() > 1) {
      std::vector<Bytes> next;
      for (std::size_t i = 0; i < level.size(); i += 2)
        next.push_back(i + 1 < level.size() ? merge(level[i], level[i + 1]) : std::move(level[i]));
      level = std::move(next);
    }
    return std::move(level.front());
  }
  Result<Bytes> broadcast(std::span<const std::byte> payload) override {
    Meeting& meeting = ranks_.meeting(next_++);
    if (rank_ == 0) {
      meeting.answer.assign(payload.begin(), payload.end());
      meeting.answered = true;
    }
    while (!meeting.answered) ranks_.wait();
    return meeting.answer;
  }
  Result<Bytes> shift(int distance, std::span<const std::byte> payload) override {
    Meeting& meeting = bring(payload);
    const int from = further_by(rank_, -distance, size());
    while (!meeting.brought.contains(from)) ranks_.wait();
    return meeting.brought[from];
  }

 private:
  Meeting& bring(std::span<const std::byte> payload) {
    Meeting& meeting = ranks_.meeting(next_++);
    meeting.brought[rank_].assign(payload.begin(), payload.end());
    return meeting;
  }
  std::map<int, Bytes>& everybody(Meeting& meeting) {
    while (meeting.brought.size() < static_cast<std::size_t>(size())) ranks_.wait();
    return meeting.brought;
  }

  Ranks& ranks_;
  int rank_;
  std::uint64_t next_ = 0;  // collective call
};

Status write(const std::string& base, const std::string& path, int tasks) {
  BENTO_ASSIGN(const auto old, Container::open(base, false, {}, make_self_communicator()));
  const DatasetDeclaration dataset = old->datasets().front();
  const auto image = old->skeleton().bytes();
  ContainerOptions options;
  options.chunk_bytes = 64u << 10;
  options.stream.buffer_bytes = 64u << 10;
  options.lock = Locking::kOff;
  std::unique_ptr<Ranks> ranks;
  ranks = std::make_unique<Ranks>(tasks, [&](int rank) -> Status {
    const auto comm = std::make_shared<TurnCommunicator>(*ranks, rank);
    BENTO_ASSIGN(const auto container, Container::create(path, false, options, comm));
    container->skeleton().write(0, image);
    const DatasetNumber number =
        container->declare(dataset.token, dataset.element_bytes, dataset.rank, dataset.flags);
    constexpr std::uint64_t kElements = 8;
    std::vector<std::byte> row(kElements * dataset.element_bytes);
    BENTO_TRY(container->write(number,
                               Box{Dims{static_cast<std::uint64_t>(rank), 0}, Dims{1, kElements}},
                               dataset.element_bytes, row));
    return container->close();
  });
  return ranks->run();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fputs("usage: many_tasks BASE FILE TASKS\n", stderr);
    return 2;
  }
  const auto done = write(argv[1], argv[2], std::atoi(argv[3]));
  if (!done) std::printf("error: %s\n", done.error().text.c_str());
  return done ? 0 : 1;
}
