#pragma once

#include <optional>
#include <string>

#include "connection/transmit.h"
#include "crypto/datagram.h"
#include "endpoint/placement.h"

namespace sheaf::workers {

// Other processes: on other machines of the fleet, or those that this one took over from
class Elsewhere {
 public:
  virtual ~Elsewhere() = default;
  // Passes on a datagram of another process. Returns kNobody when it belongs to this one, or nobody
  // knows. Any thread calls it.
  virtual quic::Owner pass_on(const quic::Datagram& datagram,
                              const quic::DatagramHeader& header) = 0;
  // Returns the reset scope of another machine that is lost. Any thread calls it.
  virtual std::optional<std::string> scope_of_lost(quic::Bytes) { return std::nullopt; }
  // Reports that a worker runs, after WorkerGroup::wake_all at the latest. Its thread calls it.
  virtual void on_worker_turn() {}
};

}  // namespace sheaf::workers
