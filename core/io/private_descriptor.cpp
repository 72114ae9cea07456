// SPDX-License-Identifier: BSD-3-Clause
// SPDX-FileCopyrightText: The h5bento developers
#include "core/io/private_descriptor.hpp"

#include <atomic>
#include <cerrno>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

namespace bento {

struct PrivateDescriptor::Node {
  int fd = -1;
  Node* before = nullptr;
  Node* after = nullptr;
};

namespace {

// Never destroyed: files may be closed after static destructors have run.
struct Registry {
  std::mutex mutex;
  PrivateDescriptor::Node head;
  std::vector<void (*)()> in_child;
};

Registry& registry_unarmed() {
  static auto* const instance = new Registry;
  return *instance;
}

void before_fork() {
  registry_unarmed().mutex.lock();
}

void after_fork_in_parent() {
  registry_unarmed().mutex.unlock();
}

void after_fork_in_child() {
  Registry& all = registry_unarmed();
  for (auto* node = all.head.after; node != nullptr; node = node->after) {
    ::close(node->fd);
    node->fd = -1;
  }
  for (const auto what : all.in_child) what();
  all.mutex.unlock();
}

// pthread_atfork belongs to the shared object that calls it: when a plugin is unloaded, the C
// library drops its handlers.
Registry& registry() {
  static const int armed =
      ::pthread_atfork(&before_fork, &after_fork_in_parent, &after_fork_in_child);
  (void)armed;
  return registry_unarmed();
}

}  // namespace

PrivateDescriptor::PrivateDescriptor(const std::function<int()>& open) {
  auto node = std::make_unique<Node>();
  Registry& all = registry();
  const std::scoped_lock lock(all.mutex);
  node->fd = open();
  if (node->fd < 0) return;
  node->before = &all.head;
  node->after = all.head.after;
  if (node->after != nullptr) node->after->before = node.get();
  all.head.after = node.get();
  node_ = std::move(node);
}

PrivateDescriptor::~PrivateDescriptor() {
  close();
}

PrivateDescriptor::PrivateDescriptor(PrivateDescriptor&&) noexcept = default;

PrivateDescriptor& PrivateDescriptor::operator=(PrivateDescriptor&& other) noexcept {
  if (this != &other) {
    close();
    node_ = std::move(other.node_);
  }
  return *this;
}

int PrivateDescriptor::get() const {
  return node_ ? node_->fd : -1;
}

void PrivateDescriptor::close() {
  if (!node_) return;
  const int kept_errno = errno;
  {
    const std::scoped_lock lock(registry().mutex);
    node_->before->after = node_->after;
    if (node_->after != nullptr) node_->after->before = node_->before;
    if (node_->fd >= 0) ::close(node_->fd);
  }
  node_.reset();
  errno = kept_errno;
}

void on_fork_in_child(void (*what)()) {
  Registry& all = registry();
  const std::scoped_lock lock(all.mutex);
  all.in_child.push_back(what);
}

namespace {

// A page with the number of this process, which the kernel empties in each forked child, however
// that is made. To ask it takes no system call. Null where there is no such page.
std::atomic<pid_t>* marked_page() {
  static std::atomic<pid_t>* const page = []() -> std::atomic<pid_t>* {
    constexpr std::size_t kBytes = 4096;
    void* const made =
        ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (made == MAP_FAILED) return nullptr;
#ifdef MADV_WIPEONFORK
    if (::madvise(made, kBytes, MADV_WIPEONFORK) == 0) return new (made) std::atomic<pid_t>(0);
#endif
    ::munmap(made, kBytes);
    return nullptr;
  }();
  return page;
}

}  // namespace

HomeProcess::HomeProcess() : id_(::getpid()) {
  if (std::atomic<pid_t>* const page = marked_page()) page->store(id_, std::memory_order_relaxed);
}

bool HomeProcess::elsewhere() const {
  const std::atomic<pid_t>* const page = marked_page();
  if (page != nullptr && page->load(std::memory_order_relaxed) == id_) return false;
  return ::getpid() != id_;
}

}  // namespace bento
