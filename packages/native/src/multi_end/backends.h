#pragma once

#include <vector>

#include "connection/connection.h"
#include "multi_end/backend_seed.h"
#include "stream/leased_limits.h"
#include "stream/shared_limits.h"

namespace sheaf::quic {

// Functions for applications: several servers on one connection, in any role
// (docs/internals/multi-end.md).

enum class BackendRefusal : std::uint8_t {
  kNotNegotiated,   // or the call belongs to another role
  kNotReady,        // the handshake is not confirmed, or keys cannot be handed over now
  kNoPath,          // no path id with connection ids of both sides is left
  kUnknownBackend,  // not handed over, not offered, or withdrawn
  kAlready,         // offered, opened, or used up
};

// Number of paths that can be handed over: now, and including those whose connection ids have not
// come yet
struct FreePaths {
  std::size_t now = 0;
  std::size_t soon = 0;
};

// A server beside the primary, as client and primary see it
struct BackendStats {
  BackendId backend;
  PathId path;
  Address address;
  bool offered = false;    // and not withdrawn
  bool drains = false;     // withdrawn, while its path is in use
  bool abandoned = false;  // its path is abandoned
};

// Makes connections offer Multi-End with these key modes (`BackendKeyModes`). 0 makes no offer.
void offer_multi_end(ConnectionConfig& config, std::uint64_t key_modes);

// Returns whether both sides offered Multi-End. Always false on a backend.
bool multi_end_negotiated(const Connection& connection);
std::vector<BackendStats> backend_stats(const Connection& connection);

// --- primary ------------------------------------------------------------------------------------
// Makes what the backend needs for a path of its own; gives as much of `wanted` as there is. From
// now on this side does nothing on that path. Call `offer_backend` when the backend has the seed.
Result<BackendSeed, BackendRefusal> hand_over(Connection& connection, BackendId backend,
                                              const Address& address, const StreamLease& wanted);
FreePaths free_backend_paths(const Connection& connection);
Status<BackendRefusal> offer_backend(Connection& connection, BackendId backend);
// `reason`: `k_backend_drains` and other reasons of connection/event.h
Status<BackendRefusal> withdraw_backend(Connection& connection, BackendId backend,
                                        std::uint64_t reason, Time now);

// --- client -------------------------------------------------------------------------------------
// After BackendOfferedEvent. Streams that are pinned to the path are the backend's. What a backend
// does wrong costs it its path (PathAbandonedEvent), and its streams are lost
// (StreamEvent::Kind::kLost).
Result<PathId, BackendRefusal> open_backend(Connection& connection, BackendId backend,
                                            const Address& local, Time now);
// Returns whether a backend answers the stream.
bool at_backend(const Connection& connection, StreamId stream);

// --- backend ------------------------------------------------------------------------------------
// Takes the place of `Connection::establish` for a connection that was made with
// `BackendSeed::adapt` of its configuration. An error means that the seed is unusable.
TransportStatus establish_backend(Connection& connection, const BackendSeed& seed, Time now);

// --- primary and backend ------------------------------------------------------------------------
// The flow control that leases divide (multi_end/credit_leases.h): on the primary, on a backend.
SharedLimits& shared_limits(Connection& connection);
LeasedLimits& leased_limits(Connection& connection);
// Notes that another server has heard the client, so that the connection is not idle.
void heard_elsewhere(Connection& connection, Time now);

}  // namespace sheaf::quic
