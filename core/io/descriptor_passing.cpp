// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/io/descriptor_passing.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/base/hex.hpp"

namespace bento {

namespace {

using Clock = std::chrono::steady_clock;

struct Address {
  sockaddr_un bytes{};
  socklen_t size = 0;
};

// A zero byte in front: the name is the kernel's, and ends with the socket.
Address address_of(const MeetingPlace& place) {
  const std::string name = fmt::format("h5bento-{}-{}", hex(place.name), place.number);
  Address address;
  address.bytes.sun_family = AF_UNIX;
  const std::size_t length = std::min(name.size(), sizeof address.bytes.sun_path - 1);
  std::memcpy(address.bytes.sun_path + 1, name.data(), length);
  address.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
  return address;
}

PrivateDescriptor make_socket() {
  return PrivateDescriptor(
      [] { return ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0); });
}

/// Waits until something can be done with the socket; false when the deadline has passed.
bool wait_for(int fd, short events, Deadline until) {
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now());
    if (left.count() < 0) return false;
    pollfd one{fd, events, 0};
    const int ready = ::poll(&one, 1, static_cast<int>(std::min<std::int64_t>(left.count(), 1000)));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return false;
  }
}

bool same_user(int fd) {
  ucred other{};
  socklen_t size = sizeof other;
  return ::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &other, &size) == 0 && other.uid == ::geteuid();
}

/// One byte, '+' with the descriptor or '-' without.
bool send_descriptor(int fd, int descriptor) {
  char answer = descriptor >= 0 ? '+' : '-';
  iovec piece{&answer, 1};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  if (descriptor >= 0) {
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* const head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(head), &descriptor, sizeof(int));
  }
  ssize_t sent = 0;
  do {
    sent = ::sendmsg(fd, &message, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent == 1;
}

/// The descriptor that has arrived, -1 if none.
int receive_descriptor(int fd) {
  char answer = 0;
  iovec piece{&answer, 1};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  ssize_t got = 0;
  do {
    got = ::recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
  } while (got < 0 && errno == EINTR);
  const cmsghdr* const head = got == 1 ? CMSG_FIRSTHDR(&message) : nullptr;
  if (head == nullptr || head->cmsg_type != SCM_RIGHTS || head->cmsg_len != CMSG_LEN(sizeof(int)))
    return -1;
  int descriptor = -1;
  std::memcpy(&descriptor, CMSG_DATA(head), sizeof(int));
  return descriptor;
}

bool shows_token(int fd, const MeetingPlace& place, Deadline until) {
  std::array<std::byte, 16> shown{};
  if (!wait_for(fd, POLLIN, until)) return false;
  // Sixteen bytes that were sent at once lie there at once.
  return ::recv(fd, shown.data(), shown.size(), 0) == static_cast<ssize_t>(shown.size()) &&
         shown == place.token;
}

}  // namespace

Result<DescriptorGiver> DescriptorGiver::open(const MeetingPlace& place) {
  PrivateDescriptor socket = make_socket();
  if (socket.get() < 0) return fail(os_error(errno, "making of", "a Unix socket"));
  const Address address = address_of(place);
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address.bytes), address.size) != 0 ||
      ::listen(socket.get(), SOMAXCONN) != 0)
    return fail(os_error(errno, "listening at", "a Unix socket"));
  return DescriptorGiver(std::move(socket), place);
}

int DescriptorGiver::give(int descriptor, int takers, Deadline until) {
  constexpr auto kForAToken = std::chrono::seconds(1);  // a stranger may say nothing
  int done = 0;
  while (done < takers && wait_for(socket_.get(), POLLIN, until)) {
    const PrivateDescriptor taker(
        [&] { return ::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK); });
    if (taker.get() < 0) continue;
    if (same_user(taker.get()) &&
        shows_token(taker.get(), place_, std::min(until, Clock::now() + kForAToken)) &&
        send_descriptor(taker.get(), descriptor))
      ++done;
  }
  return done;
}

Result<PrivateDescriptor> take_descriptor(const MeetingPlace& place, Deadline until) {
  constexpr auto kNap = std::chrono::milliseconds(1);
  const Address address = address_of(place);
  PrivateDescriptor socket = make_socket();
  if (socket.get() < 0) return fail(os_error(errno, "making of", "a Unix socket"));
  while (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address.bytes), address.size) !=
         0) {
    // Nobody there yet, or too many at once.
    if (errno != ECONNREFUSED && errno != EAGAIN && errno != EINTR)
      return fail(os_error(errno, "connecting to", "a Unix socket"));
    if (Clock::now() > until) return fail(Code::kPeer, "nobody came to hand over a descriptor");
    std::this_thread::sleep_for(kNap);
  }
  if (!same_user(socket.get()) ||
      ::send(socket.get(), place.token.data(), place.token.size(), MSG_NOSIGNAL) !=
          static_cast<ssize_t>(place.token.size()) ||
      !wait_for(socket.get(), POLLIN, until))
    return fail(Code::kPeer, "the process that hands over a descriptor does not answer");
  PrivateDescriptor taken([&] { return receive_descriptor(socket.get()); });
  if (taken.get() < 0) return fail(Code::kPeer, "no descriptor was handed over");
  return taken;
}

}  // namespace bento
