#pragma once

#include <vector>

#include "connection/connection.h"
#include "multi_end/backend_seed.h"
#include "stream/leased_limits.h"
#include "stream/shared_limits.h"

namespace sheaf::quic {

// The functions of this file let applications use several servers on one connection, in any role
// (docs/internals/multi-end.md).

enum class BackendRefusal : std::uint8_t {
  kNotNegotiated,   // not negotiated, or the call belongs to another role
  kNotReady,        // the handshake is not confirmed, or keys cannot be handed over now
  kNoPath,          // no path id with connection ids of both sides is left
  kUnknownBackend,  // not handed over, not offered, or withdrawn
  kAlready,         // offered, opened, or used up
};

// Numbers of paths that can be handed over: now, and including those whose connection ids have not
// arrived yet.
struct FreePaths {
  std::size_t now = 0;
  std::size_t soon = 0;
};

// Describes a server beside the primary, as client and primary see it.
struct BackendStats {
  BackendId backend;
  PathId path;
  Address address;
  bool offered = false;    // offered and not withdrawn
  bool drains = false;     // withdrawn, while its path is in use
  bool abandoned = false;  // its path is abandoned
};

// Makes connections offer Multi-End with these key modes (`BackendKeyModes`). 0 makes no offer.
void offer_multi_end(ConnectionConfig& config, std::uint64_t key_modes);

// Returns whether both sides offered Multi-End. Always returns false on a backend.
bool multi_end_negotiated(const Connection& connection);
std::vector<BackendStats> backend_stats(const Connection& connection);

// --- primary ------------------------------------------------------------------------------------
// Makes the seed with which the backend takes over a path of its own. Grants as much of `wanted` as
// there is. From now on this side sends and receives nothing on that path. Call `offer_backend`
// once the backend has the seed.
Result<BackendSeed, BackendRefusal> hand_over(Connection& connection, BackendId backend,
                                              const Address& address, const StreamLease& wanted);
FreePaths free_backend_paths(const Connection& connection);
Status<BackendRefusal> offer_backend(Connection& connection, BackendId backend);
// `reason` is `k_backend_drains` or another reason of connection/event.h.
Status<BackendRefusal> withdraw_backend(Connection& connection, BackendId backend,
                                        std::uint64_t reason, Time now);

// --- client -------------------------------------------------------------------------------------
// Opens a path to a backend after BackendOfferedEvent. The backend has the streams that are pinned
// to this path. A violation by the backend costs it its path (PathAbandonedEvent), and its streams
// are lost (StreamEvent::Kind::kLost).
Result<PathId, BackendRefusal> open_backend(Connection& connection, BackendId backend,
                                            const Address& local, Time now);
// Returns whether a backend answers the stream.
bool at_backend(const Connection& connection, StreamId stream);

// --- backend ------------------------------------------------------------------------------------
// Replaces `Connection::establish` on a connection that was made with a configuration from
// `BackendSeed::adapt`. An error says that the seed is unusable.
TransportStatus establish_backend(Connection& connection, const BackendSeed& seed, Time now);

// --- primary and backend ------------------------------------------------------------------------
// Return the flow control that leases divide (multi_end/credit_leases.h): the first on the primary,
// the second on a backend.
SharedLimits& shared_limits(Connection& connection);
LeasedLimits& leased_limits(Connection& connection);
// Notes that another server has heard the client, so that the connection is not idle.
void heard_elsewhere(Connection& connection, Time now);

}  // namespace sheaf::quic
