#pragma once

#include <vector>

#include "crypto/phase_keys.h"
#include "direct_return/run_messages.h"

namespace sheaf::quic {

// Permits a backend to send the packets of one stream from the gateway's address
// (docs/internals/direct-return.md). It has keys of one phase for sending, from which neither the
// next phase nor the other direction follows.
struct Grant {
  // Number of the connection at this process of the gateway, which uses none twice. With the mark
  // of a lent path (`mark_lent_path`), number of that path in the session.
  std::uint64_t connection = 0;
  GrantId id = 0;
  std::uint64_t process = 0;  // of the backend; names one start of it
  // Of path 0, with a generation of 32 bits and numbers of 48; or of a path that the backend is
  // lent for packet numbers and recovery of its own
  PhaseKeys keys;
  AddressPair addresses;              // `local` is the gateway's, `remote` the client's
  ConnectionId client_id;             // which the client chose
  bool grease_fixed_bit = false;      // the client accepts any value of the fixed bit (RFC 9287)
  StreamId stream;                    // of a request
  std::uint64_t first_offset = 0;     // no byte of the stream before it may be sent
  std::uint64_t limit = 0;            // no byte at or after it may be sent, until more is permitted
  std::uint16_t max_datagram = 1200;  // bytes of UDP payload
  // The grant ends when the gateway said nothing for this long. In milliseconds on the wire.
  Duration silence = 1s;
  // A packet with the first bytes of the stream, which the backend sends when it accepts, without
  // an order. In the form of a run of one packet, with the keys of the grant and without a mark.
  struct First {
    PacketNumber number = 0;
    std::uint16_t bytes = 0;  // of the stream; 0: there is no such packet
    Duration lifetime{};      // from the receipt of the request; in units of 0.016 ms on the wire
  };
  First first;

  static constexpr std::size_t k_encoded_size = 208;
  static constexpr Duration k_max_silence = 60s;
};

// A lent path has a number like a grant, and takes the place of a connection's in messages about
// keys and addresses. Those of connections are lower.
inline constexpr std::uint64_t k_lent_path_mark = std::uint64_t{1} << 63;
inline std::uint64_t mark_lent_path(GrantId path) { return k_lent_path_mark | path; }
inline bool is_lent_path(std::uint64_t connection) { return (connection & k_lent_path_mark) != 0; }
inline GrantId lent_path_of(std::uint64_t connection) { return static_cast<GrantId>(connection); }

enum class GrantFault : std::uint8_t {
  kUnknownVersion,
  kMalformed,   // of another length
  kOutOfRange,  // a value that no gateway of this version writes
};

// Encodes a grant in Grant::k_encoded_size bytes. They contain keys, so their carrier seals them
// for the backend and wipes them.
std::vector<std::uint8_t> encode_grant(const Grant& grant);
// Decodes a grant. Whether the backend may send from the address is not checked here.
Result<Grant, GrantFault> decode_grant(Bytes bytes);

}  // namespace sheaf::quic
