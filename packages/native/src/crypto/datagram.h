#pragma once

#include <optional>
#include <vector>

#include "util/bytes.h"
#include "wire/transport_error.h"
#include "wire/types.h"

namespace sheaf::quic {

// What an endpoint needs to know about a datagram, and the datagrams that it answers without a
// connection.

// First look at a datagram from the network.
struct DatagramHeader {
  enum class Kind : std::uint8_t {
    kShort,
    kLong,                // of a version that we speak, or Version Negotiation (`version` 0)
    kUnsupportedVersion,  // large enough to be answered with Version Negotiation
    kInvalid,
  };
  Kind kind = Kind::kInvalid;
  std::uint32_t version = 0;
  Bytes destination;  // for kShort: `short_id_length` bytes; up to 255 for an unsupported version
  Bytes source;
};
DatagramHeader peek_datagram(Bytes datagram, std::size_t short_id_length);

// A client's first packet that may open a connection (RFC 9000 §14.1: at least 1200 bytes, and
// §7.2: an id of at least 8 bytes, unless the id is ours after a Retry).
struct InitialHeader {
  std::uint32_t version = 0;
  ConnectionId destination;
  ConnectionId source;
  std::vector<std::uint8_t> token;
};
std::optional<InitialHeader> accept_initial(Bytes datagram);

// A datagram that starts with a long header, taken apart (RFC 9000 §12.2).
struct DatagramParts {
  bool handshake = false;  // has packets for `Handshake::receive`
  // Whole 0-RTT packets, and the 1-RTT packet at the end, for `Connection::receive`. At most 16.
  std::vector<std::vector<std::uint8_t>> packets;
};
// Copies the packets of the engine out of the datagram and zeroes the part behind the long headers;
// the length stays (see `Handshake::receive`).
DatagramParts split_datagram(MutableBytes datagram);
// Where the short header packet behind the long ones starts; `datagram.size()` when there is none.
std::size_t short_packet_offset(Bytes datagram);

// Whole datagrams that need no connection; 0 when `out` is too small.
std::size_t write_retry(MutableBytes out, std::uint32_t version, const ConnectionId& client_source,
                        const ConnectionId& retry_source, const ConnectionId& original_destination,
                        Bytes token);
// The ids are those of the client's datagram; the response swaps them (RFC 9000 §17.2.1).
std::size_t write_version_negotiation(MutableBytes out, std::uint8_t unused_random,
                                      Bytes client_source, Bytes client_destination);
// An attempt that is refused at once: answered with CONNECTION_CLOSE in an Initial.
struct RefusedInitial {
  std::uint32_t version = 0;
  ConnectionId client_source;
  ConnectionId client_destination;
  TransportErrorCode code = TransportErrorCode::kConnectionRefused;  // RFC 9000 §5.2.2
};
std::size_t write_refusal(MutableBytes out, const RefusedInitial& refused);

}  // namespace sheaf::quic
