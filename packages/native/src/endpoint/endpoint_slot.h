#pragma once

#include <list>
#include <memory>
#include <unordered_map>
#include <vector>

#include "endpoint/connection_driver.h"
#include "endpoint/networks.h"
#include "endpoint/timer_queue.h"

namespace sheaf::quic {

// Holds one connection of an endpoint, with its places in the endpoint's queues and counts.
struct EndpointSlot {
  std::unique_ptr<ConnectionDriver> driver;
  TimerQueue<EndpointSlot>::Entry timer;
  std::vector<ConnectionId> ids;
  bool received = false;                               // since the last end of a batch
  bool sending = false;                                // queued to send
  bool active = false;                                 // queued for its owner to drain
  bool finished = false;                               // queued to be freed
  bool half_open = false;                              // its handshake is pending
  std::list<EndpointSlot*>::iterator half_open_place;  // valid while `half_open`
  bool counted = false;                                // has a place among all connections
  bool evicted = false;                                // closed to make room
  Networks::Use* network = nullptr;  // network of a client whose handshake was made here
  std::uint64_t memory = 0;          // as last counted, in bytes
  Time last_busy{};                  // when it was last not idle
  Time last_relief{};                // when it last held less than before, or nothing
};

using EndpointSlots = std::unordered_map<const ConnectionDriver*, std::unique_ptr<EndpointSlot>>;

}  // namespace sheaf::quic
