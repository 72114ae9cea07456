// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/container/shared_lock.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "core/bytes/byte_reader.hpp"
#include "core/bytes/byte_writer.hpp"
#include "core/comm/status_message.hpp"
#include "core/io/descriptor_passing.hpp"
#include "core/io/host.hpp"

namespace bento {

namespace {

/// Ranks of one node come at the same time, and what they wait for costs microseconds.
constexpr auto kHandOver = std::chrono::seconds(5);

/// What goes up: of one rank, or of several merged.
struct Report {
  Status status;             ///< of the lowest rank that failed
  std::uint64_t others = 0;  ///< second round: nodes that took a lock of their own,
  std::uint64_t blind = 0;   ///< and those of them that did not see the owner's
};

Bytes encode(const Report& report) {
  ByteWriter out;
  put_status(out, report.status);
  out.varint(report.others);
  out.varint(report.blind);
  return std::move(out).take();
}

Result<Report> decode(std::span<const std::byte> bytes) {
  ByteReader in(bytes, std::endian::little, "lock message");
  Report report;
  report.status = get_status(in);
  BENTO_ASSIGN(report.others, in.varint());
  BENTO_ASSIGN(report.blind, in.varint());
  return report;
}

Bytes merge(std::span<const std::byte> lower, std::span<const std::byte> higher) {
  auto a = decode(lower);
  auto b = decode(higher);
  if (!a || !b) {
    Report broken;
    broken.status = fail(a ? std::move(b).error() : std::move(a).error());
    return encode(broken);
  }
  if (a->status) a->status = std::move(b->status);
  a->others += b->others;
  a->blind += b->blind;
  return encode(*a);
}

/// What comes down after the first round.
struct Order {
  Locking locking = Locking::kOff;  ///< that of rank 0
  MeetingPlace place;
  Hash128 session{};
};

class Sharing {
 public:
  Sharing(Communicator& comm, const OwnGroup& node, const LockSharing& how,
          std::unique_ptr<FileLock>& lock)
      : comm_(comm), node_(node), how_(how), lock_(lock) {}

  /// Is all well so far, and where do ranks of a node meet? Nothing if no lock is needed.
  Result<std::optional<Order>> first_round(const Status& mine) {
    Report report;
    if (!mine) report.status = fail(named(mine.error()));
    BENTO_ASSIGN(const Bytes merged, comm_.combine(encode(report), &merge));
    ByteWriter out;
    if (comm_.rank() == 0) {
      auto all = decode(merged);
      Status done = all ? std::move(all->status) : Status(fail(all.error()));
      Hash128 session{};
      if (done && lock_) {
        done = lock_->share();
        if (done) {
          auto read = read_session();
          if (read)
            session = *read;
          else
            done = fail(std::move(read).error());
        }
      }
      put_status(out, done);
      out.u8(lock_ ? static_cast<std::uint8_t>(how_.locking) : 0);
      out.bytes(random_id());
      out.bytes(random_id());
      out.bytes(session);
    }
    BENTO_ASSIGN(const Bytes blob, comm_.broadcast(out.view()));
    return read_order(blob);
  }

  /// This rank's lock.
  Status take(const Order& order, Report& report) {
    if (!how_.hand_over && node_.leader != my_rank()) return {};
    const auto until = std::chrono::steady_clock::now() + kHandOver;
    if (node_.leader != my_rank()) {
      auto taken = take_descriptor(order.place, until);
      if (taken) {
        lock_ = FileLock::handed_over(std::move(*taken));
        return {};
      }
      return take_own(order, report);
    }
    const auto takers = how_.hand_over ? static_cast<int>(node_.ranks) - 1 : 0;
    auto giver = takers == 0 ? Result<DescriptorGiver>(fail(Code::kNotFound, {}))
                             : DescriptorGiver::open(order.place);
    const Status own = my_rank() == 0 ? Status{} : take_own(order, report);
    // Whoever does not come, or finds nobody here, takes a lock of its own.
    if (giver) giver->give(own && lock_ ? lock_->descriptor() : -1, takers, until);
    return own;
  }

  Result<Report> second_round(Report report) {
    if (!report.status) report.status = fail(named(report.status.error()));
    BENTO_ASSIGN(const Bytes merged, comm_.combine(encode(report), &merge));
    BENTO_ASSIGN(const Bytes blob, comm_.broadcast(merged));
    return decode(blob);
  }

 private:
  [[nodiscard]] std::uint32_t my_rank() const { return static_cast<std::uint32_t>(comm_.rank()); }

  [[nodiscard]] Error named(const Error& error) const {
    return Error(error).with_context(fmt::format("rank {}", comm_.rank()));
  }

  Result<Hash128> read_session() {
    BENTO_ASSIGN(File* const first, how_.first());
    return how_.session(*first);
  }

  Result<std::optional<Order>> read_order(std::span<const std::byte> blob) {
    ByteReader in(blob, std::endian::little, "lock message");
    BENTO_TRY(get_status(in));
    Order order;
    BENTO_ASSIGN(const std::uint8_t locking, in.u8());
    order.locking = static_cast<Locking>(locking);
    if (order.locking == Locking::kOff) return std::optional<Order>{};
    const auto copy = [&in](auto& to) -> Status {
      BENTO_ASSIGN(const auto view, in.bytes(to.size()));
      std::copy(view.begin(), view.end(), to.begin());
      return {};
    };
    BENTO_TRY(copy(order.place.name));
    BENTO_TRY(copy(order.place.token));
    BENTO_TRY(copy(order.session));
    order.place.number = static_cast<int>(node_.leader);
    return std::optional<Order>(order);
  }

  // Between the owner's exclusive lock and this one somebody else may have had the file, if the
  // owner has died.
  Status take_own(const Order& order, Report& report) {
    BENTO_ASSIGN(File* const first, how_.first());
    bool sees_owner = false;
    BENTO_ASSIGN(lock_, FileLock::take_shared(*first, order.locking, sees_owner));
    ++report.others;
    if (!sees_owner) ++report.blind;
    BENTO_ASSIGN(const Hash128 session, how_.session(*first));
    if (session == order.session) return {};
    lock_.reset();
    return fail(Code::kBusy, fmt::format("'{}': the file that is found here is not the one that "
                                         "rank 0 has opened, or another program has taken it",
                                         first->path()));
  }

  Communicator& comm_;
  OwnGroup node_;
  const LockSharing& how_;
  std::unique_ptr<FileLock>& lock_;
};

}  // namespace

Result<std::string> share_lock(Communicator& comm, const OwnGroup& node, const Status& mine,
                               const LockSharing& sharing, std::unique_ptr<FileLock>& lock) {
  if (comm.size() == 1) {
    BENTO_TRY(mine);
    return std::string{};
  }
  Sharing part(comm, node, sharing, lock);
  BENTO_ASSIGN(const auto order, part.first_round(mine));
  if (!order) return std::string{};
  Report report;
  report.status = part.take(*order, report);
  auto all = part.second_round(std::move(report));
  if (!all || !all->status) {
    lock.reset();
    return fail(all ? std::move(all->status).error() : std::move(all).error());
  }
  if (comm.rank() != 0 || all->blind == 0) return std::string{};
  return fmt::format(
      "{} of {} locks on other nodes do not see that of rank 0: locks are local to "
      "each node on this file system, so that a second program on another node "
      "would not be kept from writing",
      all->blind, all->others);
}

}  // namespace bento
