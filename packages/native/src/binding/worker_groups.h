#pragma once

#include <cstdint>
#include <memory>

#include "io/worker_sockets.h"

namespace sheaf::binding {

// The sockets of workers by number, for all threads of the process. 0 is no number.
class WorkerGroups {
 public:
  static std::uint32_t add(std::shared_ptr<io::WorkerSockets> sockets);
  // Returns null for a number that is not in use.
  static std::shared_ptr<io::WorkerSockets> find(std::uint32_t number);
  static void remove(std::uint32_t number);
};

}  // namespace sheaf::binding
