#pragma once

#include <optional>
#include <vector>

#include "util/bytes.h"
#include "wire/transport_error.h"
#include "wire/types.h"

namespace sheaf::quic {

// Functions for an endpoint: parsing datagrams before they belong to a connection, and writing
// datagrams that need none.

// The parts of a datagram from the network that tell which connection it belongs to
struct DatagramHeader {
  enum class Kind : std::uint8_t {
    kShort,
    kLong,                // of a version that we speak, or Version Negotiation (`version` 0)
    kUnsupportedVersion,  // large enough to be answered with Version Negotiation
    kInvalid,
  };
  Kind kind = Kind::kInvalid;
  std::uint8_t first_byte = 0;
  std::uint32_t version = 0;
  Bytes destination;  // for kShort: `short_id_length` bytes; up to 255 for an unsupported version
  Bytes source;
  // Whether it may be one of a client's first packets, with an id that the client chose
  bool may_open() const;
};
DatagramHeader peek_datagram(Bytes datagram, std::size_t short_id_length);

// A client's first packet that may open a connection. It has at least 1200 bytes (RFC 9000 §14.1),
// and an id of at least 8 bytes (§7.2), unless the id is ours after a Retry.
struct InitialHeader {
  std::uint32_t version = 0;
  ConnectionId destination;
  ConnectionId source;
  std::vector<std::uint8_t> token;
};
std::optional<InitialHeader> accept_initial(Bytes datagram);

// The parts of a datagram that starts with a long header (RFC 9000 §12.2)
struct DatagramParts {
  bool handshake = false;  // has packets for `Handshake::receive`
  // Whole 0-RTT packets, and the 1-RTT packet at the end, for `Connection::receive`; at most 16
  std::vector<std::vector<std::uint8_t>> packets;
};
// Copies the engine's packets out of the datagram, and zeroes the part behind the long headers. The
// length stays (see `Handshake::receive`).
DatagramParts split_datagram(MutableBytes datagram);
// Returns where the short header packet behind the long ones starts; `datagram.size()` when there
// is none.
std::size_t short_packet_offset(Bytes datagram);

// Writes a datagram that needs no connection. Returns 0 when `out` is too small.
std::size_t write_retry(MutableBytes out, std::uint32_t version, const ConnectionId& client_source,
                        const ConnectionId& retry_source, const ConnectionId& original_destination,
                        Bytes token);
// Writes Version Negotiation. The ids are those of the client's datagram, which the response swaps
// (RFC 9000 §17.2.1).
std::size_t write_version_negotiation(MutableBytes out, std::uint8_t unused_random,
                                      Bytes client_source, Bytes client_destination);
// An attempt that is refused at once, with CONNECTION_CLOSE in an Initial
struct RefusedInitial {
  std::uint32_t version = 0;
  ConnectionId client_source;
  ConnectionId client_destination;
  TransportErrorCode code = TransportErrorCode::kConnectionRefused;  // RFC 9000 §5.2.2
};
std::size_t write_refusal(MutableBytes out, const RefusedInitial& refused);

}  // namespace sheaf::quic
