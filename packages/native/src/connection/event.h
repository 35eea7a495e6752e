#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "stream/stream_event.h"
#include "util/address.h"
#include "wire/frame.h"
#include "wire/types.h"

namespace sheaf::quic {

struct EstablishedEvent {};         // 1-RTT packets can be sent
struct HandshakeConfirmedEvent {};  // RFC 9001 §4.1.2
struct DatagramReceivedEvent {
};  // `ApplicationDatagrams::receive` has something: read until it has not
struct DatagramsWritableEvent {};  // `ApplicationDatagrams::send` refused one, and has room again
struct DatagramAcknowledgedEvent {
  std::uint64_t identifier = 0;
};
struct DatagramLostEvent {  // counted as lost; not sent again (RFC 9221 §5.2)
  std::uint64_t identifier = 0;
};
struct NewTokenEvent {};             // client: `Establishment::address_token` is new
struct PostHandshakeCryptoEvent {};  // client: TLS bytes wait in `Establishment::read_crypto`
struct SessionTicketEvent {};        // client: the session can be resumed
struct PathChangedEvent {            // it leads to other addresses
  PathId path;
};
// RFC 10069. Opened (server): the client uses the path now. Validated: the path carries data from
// now on.
struct PathOpenedEvent {
  PathId path;
};
struct PathValidatedEvent {
  PathId path;
};
struct PathAbandonedEvent {
  PathId path;
  std::uint64_t error = 0;
  bool by_peer = false;
};
struct PathStatusEvent {  // the peer prefers another use of it
  PathId path;
  PathStatus status = PathStatus::kAvailable;
};
struct PathsAvailableEvent {};  // client: `ApplicationPaths::open` can work now

// Several servers (docs/internals/multi-end.md).
struct BackendOfferedEvent {  // client: `open_backend` can reach it
  BackendId backend;
  PathId path;
  Address address;
};
// Client: the backend takes no new streams. Unless the reason is `k_backend_drains`, its path is
// abandoned.
struct BackendWithdrawnEvent {
  BackendId backend;
  PathId path;
  std::uint64_t reason = 0;
};
// Reasons in BACKEND_WITHDRAW (docs/reference/wire.md).
inline constexpr std::uint64_t k_backend_drains = 0;
inline constexpr std::uint64_t k_backend_gone = 1;
struct BackendLeftEvent {  // primary: the client abandoned the backend's path
  BackendId backend;
  PathId path;
  std::uint64_t error = 0;
  BackendUse use;  // the client's account of what they exchanged
};
struct PrimaryLostEvent {};  // client: only backends answer

// The connection ended, in the terms of RFC 9000 §10.
struct ConnectionClosed {
  enum class Cause : std::uint8_t {
    kLocalApplication,
    kLocalError,
    kPeerApplication,
    kPeerError,
    kIdle,
    kStatelessReset,
    kHandshakeFailed,
  };
  Cause cause = Cause::kLocalApplication;
  std::uint64_t error = 0;
  std::uint64_t frame_type = 0;
  std::string reason;
};

using Event =
    std::variant<EstablishedEvent, HandshakeConfirmedEvent, StreamEvent, DatagramReceivedEvent,
                 DatagramsWritableEvent, DatagramAcknowledgedEvent, DatagramLostEvent,
                 NewTokenEvent, PostHandshakeCryptoEvent, SessionTicketEvent, PathChangedEvent,
                 PathOpenedEvent, PathValidatedEvent, PathAbandonedEvent, PathStatusEvent,
                 PathsAvailableEvent, BackendOfferedEvent, BackendWithdrawnEvent, BackendLeftEvent,
                 PrimaryLostEvent, ConnectionClosed>;

}  // namespace sheaf::quic
