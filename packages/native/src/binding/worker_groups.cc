#include "binding/worker_groups.h"

#include <mutex>
#include <unordered_map>

namespace sheaf::binding {

namespace {

struct Table {
  std::mutex mutex;
  std::unordered_map<std::uint32_t, std::shared_ptr<io::WorkerSockets>> sockets;
  std::uint32_t next = 1;
};

// Threads may end after the objects with static storage are gone.
Table& worker_table() {
  static Table& table = *new Table;
  return table;
}

}  // namespace

std::uint32_t WorkerGroups::add(std::shared_ptr<io::WorkerSockets> sockets) {
  Table& table = worker_table();
  const std::lock_guard lock(table.mutex);
  const std::uint32_t number = table.next++;
  table.sockets.emplace(number, std::move(sockets));
  return number;
}

std::shared_ptr<io::WorkerSockets> WorkerGroups::find(std::uint32_t number) {
  Table& table = worker_table();
  const std::lock_guard lock(table.mutex);
  const auto found = table.sockets.find(number);
  return found == table.sockets.end() ? nullptr : found->second;
}

void WorkerGroups::remove(std::uint32_t number) {
  Table& table = worker_table();
  const std::lock_guard lock(table.mutex);
  table.sockets.erase(number);
}

}  // namespace sheaf::binding
