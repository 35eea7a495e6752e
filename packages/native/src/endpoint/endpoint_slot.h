#pragma once

#include <list>
#include <memory>
#include <unordered_map>
#include <vector>

#include "endpoint/connection_driver.h"
#include "endpoint/networks.h"
#include "endpoint/timer_queue.h"

namespace sheaf::quic {

// One connection of an endpoint, with its places in the endpoint's queues and counts.
struct EndpointSlot {
  std::unique_ptr<ConnectionDriver> driver;
  TimerQueue<EndpointSlot>::Entry timer;
  std::vector<ConnectionId> ids;
  bool sending = false;                                // queued to send
  bool active = false;                                 // queued for its owner to drain
  bool finished = false;                               // queued to be freed
  bool half_open = false;                              // its handshake is pending
  std::list<EndpointSlot*>::iterator half_open_place;  // while it is
  bool evicted = false;                                // closed to make room
  Networks::Use* network = nullptr;                    // of a client that shook hands here
  std::uint64_t memory = 0;                            // as counted last
  Time last_busy{};                                    // when it last was not idle
  Time last_relief{};  // when it last held less than before, or nothing
};

using EndpointSlots = std::unordered_map<const ConnectionDriver*, std::unique_ptr<EndpointSlot>>;

}  // namespace sheaf::quic
