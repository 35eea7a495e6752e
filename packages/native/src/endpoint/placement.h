#pragma once

#include <optional>
#include <string>

#include "connection/transmit.h"
#include "crypto/datagram.h"
#include "steering/steering.h"
#include "util/network_key.h"
#include "wire/types.h"

namespace sheaf::quic {

// From where an endpoint has a datagram
enum class Origin : std::uint8_t {
  kNetwork,
  kWorker,  // another endpoint of the same address, which took it for one of this endpoint's
};

// Who has the connection of a datagram
enum class Owner : std::uint8_t {
  kAnother,  // somebody else, who has the datagram now
  kNobody,   // the datagram opens a connection here, or its connection was here and is gone
  kLost,     // another server with the same secrets had it, which is gone with all its connections
};

// The place of an endpoint among others that have the same address: which ids lead to it, and who
// gets the datagrams that belong to none of its connections.
class Placement {
 public:
  virtual ~Placement() = default;
  // What the ids that the endpoint makes have
  virtual std::optional<SteeringMark> mark() const = 0;
  // How an id came to belong to a connection here
  enum class Source : std::uint8_t {
    kServer,  // this endpoint made it, or another server that handed the connection over
    kClient,  // the client chose it, for its first packets alone
  };
  // An id of a connection here, in use from now on.
  virtual void add(const ConnectionId& id, Source source) = 0;
  virtual void remove(const ConnectionId& id) = 0;
  // Passes on a datagram of no connection here. Only where no other has its connection, a stateless
  // reset is right: it would end the connection (RFC 9000 §10.3).
  virtual Owner pass_on(const Datagram& datagram, const DatagramHeader& header, Origin origin) = 0;
  // Returns the reset scope of another server (EndpointConfig::reset_scope), as long as it is lost.
  virtual std::optional<std::string> scope_of_lost(Bytes server_id) const = 0;
  // Asks the other endpoints to close idle connections, of this network or of any: all together
  // have as many as there may be.
  virtual void ask_for_room(const std::optional<NetworkKey>& network) = 0;
};

}  // namespace sheaf::quic
