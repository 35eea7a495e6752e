#pragma once

#include <cstdint>
#include <optional>

#include "connection/received_datagram.h"
#include "util/bytes.h"
#include "util/time.h"

namespace sheaf::quic {

struct ConnectionParts;

// The datagrams of a connection as its application sees them (RFC 9221).
class ApplicationDatagrams {
 public:
  explicit ApplicationDatagrams(ConnectionParts& parts) : parts_(parts) {}

  // Returns the largest payload that fits now, in bytes; 0 when the peer takes none.
  std::size_t maximum_payload() const;
  // Copies the payload. `identifier` comes back in DatagramAcknowledgedEvent or DatagramLostEvent.
  // Returns false when the payload is too large or the queue is full. In the second case
  // DatagramsWritableEvent follows.
  bool send(Bytes payload, std::uint64_t identifier);
  struct Conditions {
    std::uint64_t rate = 0;  // bytes of payload per second
    Duration minimum_round_trip{};
  };
  // Returns what all paths together let leave, and the shortest round trip of the fastest one.
  Conditions conditions() const;
  // Bounds the datagrams that wait to be sent, in bytes. A sender with queues of its own wants them
  // to wait there.
  void limit_waiting(std::size_t bytes);
  // Returns a datagram without a copy, valid until the connection receives its next packet. Of
  // those that wait too long for room the oldest are dropped (connection/datagram_queue.h).
  std::optional<ReceivedDatagram> receive();

 private:
  ConnectionParts& parts_;
};

}  // namespace sheaf::quic
