// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "vol/file/cached_file.hpp"

#include <hdf5.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>

#include <fmt/format.h>

#include "core/bytes/byte_reader.hpp"
#include "core/bytes/byte_writer.hpp"
#include "core/comm/agree.hpp"
#include "core/comm/status_message.hpp"
#include "transfer/cache_note.hpp"
#include "transfer/cached_copy.hpp"
#include "transfer/final_name.hpp"
#include "transfer/hand_over.hpp"
#include "transfer/spill.hpp"
#include "transfer/submit.hpp"
#include "vol/file/file_agreement.hpp"
#include "vol/file/spread_cache.hpp"

namespace bento::vol {

namespace {

/// What is free in a cache that is not called full: less would not hold the smallest container.
constexpr std::uint64_t kRoom = 256u << 10;
constexpr std::uint64_t kRoomPerRank = 16u << 10;

bool is_full(const Error& error) {
  return error.code == Code::kNoSpace || error.os_errno == ENOSPC || error.os_errno == EDQUOT;
}

void put_text(ByteWriter& out, const std::string& text) {
  out.u64(text.size());
  out.bytes(std::as_bytes(std::span(text)));
}

Result<std::string> get_text(ByteReader& in) {
  BENTO_ASSIGN(const std::uint64_t length, in.u64());
  BENTO_ASSIGN(const auto bytes, in.bytes(length));
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

void warn_of_full_cache(const char* name, const std::string& why, const Config& config) {
  fmt::print(stderr, "h5bento: warning: {}; '{}' is written directly (cache_full=direct){}\n", why,
             name,
             config.arrive == Arrival::kContainer
                 ? ""
                 : fmt::format(", as a container: arrive={} does not come about",
                               value_text(config, "arrive")));
}

/// Rank 0's part of a create in the cache.
Result<std::shared_ptr<transfer::CachedCopy>> owner_begin(const FileRequest& request,
                                                          const Config& config,
                                                          std::uint64_t session, int ranks) {
  const bool exclusive = (request.flags & H5F_ACC_EXCL) != 0;
  BENTO_ASSIGN(const std::string final_name, transfer::final_name_of(request.name));
  BENTO_TRY(transfer::check_final_name(final_name, config.files, exclusive));
  BENTO_TRY(transfer::check_can_discard(final_name, exclusive));
  if (config.flush != Flush::kOff)
    if (auto program = transfer::find_program(); !program) return fail(program.error());
  const std::uint64_t room = kRoom + kRoomPerRank * static_cast<std::uint64_t>(ranks);
  BENTO_ASSIGN(auto copy, transfer::begin_copy(config.cache, final_name,
                                               fmt::format("{:016x}", session), room));
  return std::make_shared<transfer::CachedCopy>(std::move(copy));
}

/// The same, or nothing where the file is to be written directly.
Result<std::shared_ptr<transfer::CachedCopy>> owner_place(const FileRequest& request,
                                                          const AgreedFile& file) {
  const Config& config = file.settings.requested.config;
  std::shared_ptr<transfer::CachedCopy> copy;
  if (!config.cache.empty()) {
    auto begun = owner_begin(request, config, file.decision.session, file.comm->size());
    if (begun) return begun;
    if (!is_full(begun.error()) || config.cache_full_fails) return fail(begun.error());
    warn_of_full_cache(request.name, begun.error().text, config);
  }
  BENTO_TRY(transfer::check_can_discard(request.name, (request.flags & H5F_ACC_EXCL) != 0));
  return copy;
}

/// files=node: as many physical files as the program runs on nodes.
Status count_nodes(AgreedFile& file) {
  Config& config = file.settings.requested.config;
  if (config.files != 0) return {};
  BENTO_ASSIGN(const OwnGroup own, find_own_group(*file.comm, node_key(*file.comm, config.cache)));
  BENTO_ASSIGN(config.files, count_groups(*file.comm, own));
  return {};
}

/// Nobody goes on with what was begun in the caches.
void forget(CachePlace& place) {
  if (place.held) transfer::forget_copy(*place.held);
  place = {};
}

/// Where rank 0 has begun a copy; without a path if the file is to be written directly.
Result<BegunCopy> begin_in_cache(const FileRequest& request, const AgreedFile& file,
                                 CachePlace& place) {
  ByteWriter out;
  if (file.comm->rank() == 0) {
    auto copy = owner_place(request, file);
    put_status(out, copy ? Status{} : Status(fail(copy.error())));
    if (copy) place.held = std::move(*copy);
    for (const auto& text : {place.held ? place.held->path : std::string{},
                             place.held ? place.held->final_name : std::string{},
                             place.held ? place.held->id : std::string{}})
      put_text(out, text);
  }
  BENTO_ASSIGN(const Bytes said, file.comm->broadcast(out.view()));
  ByteReader in(said, std::endian::little, "where a file is created");
  BENTO_TRY(get_status(in));
  BegunCopy begun;
  BENTO_ASSIGN(begun.path, get_text(in));
  BENTO_ASSIGN(begun.final_name, get_text(in));
  BENTO_ASSIGN(begun.id, get_text(in));
  return begun;
}

/// Does every rank see what rank 0 has begun?
Result<bool> all_see(Communicator& comm, bool seen) {
  const Bytes mine{seen ? std::byte{1} : std::byte{0}};
  BENTO_ASSIGN(const Bytes all, comm.combine(mine, [](auto lower, auto higher) {
    return Bytes{lower.front() & higher.front()};
  }));
  BENTO_ASSIGN(const Bytes said, comm.broadcast(all));
  return said.front() != std::byte{0};
}

}  // namespace

Result<CachePlace> place_to_create(const FileRequest& request, AgreedFile& file) {
  BENTO_TRY(count_nodes(file));
  const Config& config = file.settings.requested.config;
  CachePlace place;
  if (config.cache.empty() && file.decision.place.empty()) return place;
  Communicator& comm = *file.comm;
  BENTO_ASSIGN(BegunCopy begun, begin_in_cache(request, file, place));
  if (begun.path.empty()) return place;
  const bool seen = transfer::id_of_copy(begun.path) == begun.id;
  const auto whole = all_see(comm, seen);
  if (whole && *whole) {
    place.cached = CachedFile{std::move(begun.path), std::move(begun.final_name), {}};
    return place;
  }
  auto spread =
      whole ? spread_over_nodes(begun, seen, config, comm, place) : Status(fail(whole.error()));
  if (spread) return place;
  const bool direct = is_full(spread.error()) && !config.cache_full_fails;
  forget(place);
  if (!direct) return fail(std::move(spread).error());
  if (comm.rank() == 0) warn_of_full_cache(request.name, spread.error().text, config);
  return place;
}

Status take_place_of_copies(const CachePlace& place, const FileRequest& request,
                            const AgreedFile& file) {
  if (place.cached || file.decision.place.empty()) return {};
  return drop_copies_of(request.name, *file.comm);
}

Status drop_copies_of(const char* name, Communicator& comm) {
  return agree(comm, comm.rank() == 0 ? transfer::discard_copies(name) : Status{});
}

FileOpener opener_in(const CachedFile& file, const Config& config, FileOpener under) {
  return transfer::spilling_opener(file.path, file.final_name, std::move(under),
                                   !config.cache_full_fails);
}

bool give_up_place(CachePlace& place, const FileRequest& request, const AgreedFile& file,
                   const Error& problem) {
  if (!place.cached) return false;
  const Config& config = file.settings.requested.config;
  const bool direct = is_full(problem) && !config.cache_full_fails;
  forget(place);
  if (direct && file.comm->rank() == 0) warn_of_full_cache(request.name, problem.text, config);
  return direct;
}

namespace {

/// arrive= was settled at the create, keep= is this session's.
Status check_arrival(const FileRequest& request, const AgreedFile& file, const CachedFile& copy) {
  const auto& [config, given] = file.settings.requested;
  if ((request.flags & H5F_ACC_RDWR) == 0 || config.keep == 1 || given.contains("arrive"))
    return {};
  BENTO_ASSIGN(const transfer::Arrive arrive,
               transfer::arrival_of_copy(copy.final_name, copy.path));
  if (arrive != transfer::Arrive::kNative) return {};
  return fail(Code::kInvalidArgument,
              fmt::format("'{}' was created with arrive=native, and this open asks for keep={}: "
                          "what arrives has the newest step only, so keep must be 1",
                          request.name, value_text(config, "keep")));
}

}  // namespace

Result<CachePlace> place_to_open(const FileRequest& request, const AgreedFile& file) {
  CachePlace place;
  if (file.decision.place.empty()) return place;
  place.held = file.copy;
  place.cached = CachedFile{file.decision.place, request.name, {}};
  if (const auto final_name = transfer::final_name_of(request.name))
    place.cached->final_name = *final_name;
  const auto look = [&]() -> Status {
    if (::access(place.cached->path.c_str(), R_OK) == 0)
      return file.comm->rank() == 0 ? check_arrival(request, file, *place.cached) : Status{};
    return fail(Code::kNotFound,
                fmt::format("the newest state of '{}' has not arrived yet: it is in a cache, as "
                            "'{}', which node '{}' does not have. Open it on the node that has it, "
                            "or wait until it has arrived (errno = {})",
                            request.name, place.cached->path, file.comm->node(), errno),
                ENOENT);
  };
  BENTO_TRY(agree(*file.comm, look()));
  return place;
}

namespace {

transfer::Arrive arrive_as(Arrival arrival) {
  switch (arrival) {
    case Arrival::kOneFile:
      return transfer::Arrive::kOneFile;
    case Arrival::kNative:
      return transfer::Arrive::kNative;
    case Arrival::kContainer:
      break;
  }
  return transfer::Arrive::kContainer;
}

// Who writes on and says nothing of it changes nothing of what was wished at the create.
transfer::FlushWish wish_of(const OpenSettings& settings) {
  const auto& [config, given] = settings.requested;
  transfer::FlushWish wish;
  wish.submit = config.flush != Flush::kOff;
  wish.evict = config.evict;
  wish.keep = config.evict_keep;
  if (settings.created || given.contains("arrive")) wish.arrive = arrive_as(config.arrive);
  if (given.contains("bw")) wish.bytes_per_second = static_cast<double>(config.bw);
  if (given.contains("percent")) wish.cpu_percent = config.percent;
  return wish;
}

}  // namespace

Status note_committed(const CachedFile& file, const OpenSettings& settings) {
  return transfer::note_copy(file.final_name, file.path, wish_of(settings));
}

namespace {

/// What rank 0 tells the others while they wait for it, so that no deadline passes meanwhile.
struct Word {
  Status status;
  bool last = true;
  bool arrived = false;
};

Result<Word> say(Communicator& comm, const Word& mine) {
  ByteWriter out;
  if (comm.rank() == 0) {
    put_status(out, mine.status);
    out.u8(mine.last ? 1 : 0);
    out.u8(mine.arrived ? 1 : 0);
  }
  BENTO_ASSIGN(const Bytes said, comm.broadcast(out.view()));
  ByteReader in(said, std::endian::little, "what rank 0 says of a cache");
  Word word;
  word.status = get_status(in);
  BENTO_ASSIGN(const std::uint8_t last, in.u8());
  BENTO_ASSIGN(const std::uint8_t arrived, in.u8());
  word.last = last != 0;
  word.arrived = arrived != 0;
  return word;
}

/// How long rank 0 may be silent.
double pause_of(const Config& config) {
  return config.timeout > 0 ? std::min(config.timeout / 4, 1.0) : 1.0;
}

Result<bool> owner_hand_over(const CachedFile& file, const OpenSettings& settings,
                             const std::string& transfer_file, Communicator& comm) {
  const Config& config = settings.requested.config;
  transfer::FlushWish wish = wish_of(settings);
  wish.transfer_file = transfer_file;
  auto said_at = std::chrono::steady_clock::now();
  const auto tick = [&]() -> Status {
    const auto now = std::chrono::steady_clock::now();
    if (std::chrono::duration<double>(now - said_at).count() < pause_of(config)) return {};
    said_at = now;
    auto said = say(comm, {{}, false, false});
    return said ? Status{} : Status(fail(std::move(said).error()));
  };
  auto done = transfer::hand_over(file.final_name, file.path, wish, tick);
  if (done) return done;
  return fail(std::move(done).error().with_context(
      fmt::format("'{}' is complete in the cache, as '{}', and will not arrive by itself. When the "
                  "reason is gone: h5bento transfer submit '{}' '{}'. The reason",
                  file.final_name, file.path, file.path, file.final_name)));
}

/// True if it has arrived already.
Result<bool> hand_over(const CachedFile& file, const OpenSettings& settings,
                       const std::string& transfer_file, Communicator& comm) {
  if (comm.rank() == 0) {
    const auto done = owner_hand_over(file, settings, transfer_file, comm);
    const bool arrived = done && *done;
    auto said = say(comm, {done ? Status{} : Status(fail(done.error())), true, arrived});
    if (!done) return done;
    if (!said) return fail(std::move(said).error());
    return arrived;
  }
  for (;;) {
    BENTO_ASSIGN(const Word word, say(comm, {}));
    BENTO_TRY(word.status);
    if (word.last) return word.arrived;
  }
}

/// The part of the lowest rank of each further node.
Status hand_over_my_share(const CachedFile& file, const OpenSettings& settings,
                          const Communicator& comm) {
  const SpreadPlace& place = file.spread->files->place();
  if (!place.leads || place.owner) return {};
  transfer::FlushWish wish = wish_of(settings);
  wish.transfer_file = transfer::transfer_file_for(file.path);
  auto done = transfer::hand_over_share(file.final_name, file.path, wish);
  if (done) return done;
  return fail(std::move(done).error().with_context(
      fmt::format("the share of '{}' on node '{}' is complete, as '{}', and will not arrive by "
                  "itself: h5bento transfer submit '{}' there",
                  file.final_name, comm.node(), file.path, file.final_name)));
}

/// One look of rank 0 at what flush=sync waits for.
Result<bool> owner_look(const CachedFile& file, const std::string& transfer_file, double seconds,
                        transfer::Restarts& restarts, std::string& told) {
  std::string problem;
  BENTO_ASSIGN(const bool arrived,
               transfer::wait_a_little(file.final_name, transfer_file, seconds, problem, restarts));
  // What only says how far it is has no errno in it.
  if (!arrived && problem.find("errno") != std::string::npos && problem != told) {
    fmt::print(stderr, "h5bento: flush=sync of '{}' waits: {}\n", file.final_name, problem);
    told = problem;
  }
  return arrived;
}

Status wait_for_arrival(const CachedFile& file, const Config& config,
                        const std::string& transfer_file, Communicator& comm) {
  std::string told;
  transfer::Restarts restarts;
  for (;;) {
    Word mine;
    if (comm.rank() == 0) {
      auto arrived = owner_look(file, transfer_file, pause_of(config), restarts, told);
      mine.arrived = arrived && *arrived;
      if (!arrived) mine.status = fail(std::move(arrived).error());
    }
    BENTO_ASSIGN(const Word word, say(comm, mine));
    BENTO_TRY(word.status);
    if (word.arrived) return {};
  }
}

}  // namespace

Status finish_cached(const CachedFile& file, const OpenSettings& settings, Communicator& comm,
                     const Status& closed) {
  Status all = agree(comm, closed);
  if (!closed) return closed;
  BENTO_TRY(std::move(all));
  const std::string transfer_file =
      comm.rank() == 0 ? transfer::transfer_file_for(file.path) : std::string{};
  BENTO_ASSIGN(const bool has_arrived, hand_over(file, settings, transfer_file, comm));
  if (file.spread) BENTO_TRY(agree(comm, hand_over_my_share(file, settings, comm)));
  const Config& config = settings.requested.config;
  if (has_arrived || config.flush != Flush::kSync) return {};
  return wait_for_arrival(file, config, transfer_file, comm);
}

}  // namespace bento::vol
