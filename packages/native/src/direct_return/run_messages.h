#pragma once

#include <array>
#include <optional>
#include <variant>
#include <vector>

#include "crypto/phase_keys.h"
#include "direct_return/own_recovery/report_messages.h"
#include "util/address.h"
#include "util/inplace_vector.h"
#include "util/result.h"
#include "util/time.h"
#include "wire/types.h"

namespace sheaf::quic {

// Messages between a gateway and a backend that sends for it (docs/internals/direct-return.md shows
// the layout). Every value is a total or names its own place, and is said again until the other
// side has it. So a message that is lost, repeated or late costs time alone.

// Tells a backend to send packets with consecutive numbers, in one burst. Each holds one STREAM
// frame with the same number of bytes.
struct RunMessage {
  static constexpr std::uint8_t k_max_packets = 32;
  static constexpr Duration k_unit = 16us;  // of `wait` and `lifetime`, which are rounded down
  static constexpr Duration k_max_duration = k_unit * 0xffff;

  GrantId grant = 0;
  PacketNumber first = 0;
  std::uint64_t offset = 0;     // in the stream, of the first packet's data
  std::uint16_t bytes = 0;      // of the stream in each packet
  std::uint8_t packets = 0;     // 1 to k_max_packets
  std::uint8_t phase_name = 0;  // of the keys (crypto/phase_keys.h)
  Ecn ecn = Ecn::kNotEct;
  bool fin = false;     // the last packet ends the stream
  Duration wait{};      // from receipt until it is due
  Duration lifetime{};  // from receipt until it is void; longer by what it waits for lower numbers

  std::uint64_t end() const { return offset + std::uint64_t{bytes} * packets; }
  auto operator<=>(const RunMessage&) const = default;
};

// What a backend did for a grant
struct Progress {
  static constexpr std::size_t k_max_refused = 4;

  GrantId grant = 0;
  std::uint64_t available = 0;    // end of the bytes that the backend has, as offset in the stream
  PacketNumber executed_end = 0;  // one above the highest number that it sent; 0: it sent none
  // What it has of the connection: the generation of its keys, and the number of the last
  // AddressChange that it followed; 0: none.
  std::uint32_t generation = 0;
  std::uint32_t address = 0;
  std::uint16_t refused = 0;  // runs that it refused so far; 65535 stands for more as well
  // First numbers of runs that it refused, the newest last
  InplaceVector<PacketNumber, k_max_refused> newest_refused;
};

// What the client has, and may still get
struct Acknowledged {
  GrantId grant = 0;
  std::uint64_t offset = 0;  // the client has all bytes of the stream before it
  std::uint64_t limit = 0;   // no byte of the stream at or after it may be sent
  auto operator<=>(const Acknowledged&) const = default;
};

// New keys after a key update. Runs of earlier generations that were not sent yet are void.
struct PhaseChange {
  std::uint64_t connection = 0;
  std::uint32_t generation = 0;   // number of key updates so far
  PacketNumber first_number = 0;  // all numbers of this generation are at or above it
  // Key, IV and tag (phase_sealer.h); a key that is shorter than 32 bytes ends in zeros
  static constexpr std::size_t k_sealed = 32 + 12 + k_aead_tag_length;
  std::array<std::uint8_t, k_sealed> sealed{};
  auto operator<=>(const PhaseChange&) const = default;
};

// Where the packets of a connection go from now on. Those with lower numbers are void.
struct AddressChange {
  std::uint64_t connection = 0;
  std::uint32_t number = 0;  // from 1; rises with each change of the connection
  AddressPair addresses;     // `local` is the gateway's, `remote` the client's
  ConnectionId client_id;    // which the client chose
  bool paused = false;       // nothing may be sent until the next message of this kind
  auto operator<=>(const AddressChange&) const = default;
};

// How a grant ends
enum class GrantEnd : std::uint8_t {
  kReset,   // backend: the response failed with `code`
  kRevoke,  // gateway: forget the grant. Backend: there is no such grant
};
// Each side also answers so when the other one speaks of a grant that it does not have.
struct GrantEnded {
  GrantEnd end = GrantEnd::kRevoke;
  GrantId grant = 0;
  std::uint64_t code = 0;  // of HTTP/3
  auto operator<=>(const GrantEnded&) const = default;
};

// A datagram with runs that the backend did not get, and would not carry out any more
struct VoidRuns {
  std::uint64_t datagram = 0;  // RunDatagram::number
  auto operator<=>(const VoidRuns&) const = default;
};

// Shows that a gateway lives that has nothing else to say.
struct Ping {
  std::uint64_t process = 0;  // names one start of it
  auto operator<=>(const Ping&) const = default;
};

// A datagram holds messages of one kind.
using RunMessages =
    std::variant<std::vector<RunMessage>, std::vector<Progress>, std::vector<Acknowledged>,
                 std::vector<PhaseChange>, std::vector<AddressChange>, std::vector<GrantEnded>,
                 std::vector<Ping>, std::vector<AckReport>, std::vector<SenderState>,
                 std::vector<Delivered>, std::vector<VoidRuns>>;
struct RunDatagram {
  std::uint32_t session = 0;  // counter of the session of gateway and backend
  RunMessages messages;       // at least one
  std::uint64_t number = 0;   // of the gateway: how many with runs the session had before it
};

// Largest datagram, in bytes. As one of HTTP/3, it fits into the smallest packets that every path
// of QUIC carries.
inline constexpr std::size_t k_max_run_datagram = 1150;
// Returns how many messages of the same kind as `messages` fit into a datagram, whatever they hold.
std::size_t most_in_datagram(const RunMessages& messages);

enum class RunMessageFault : std::uint8_t {
  kUnknownKind,
  kMalformed,   // truncated, longer than a datagram, with bytes left over, or without a message
  kOutOfRange,  // a value that no node of this version writes
};

// Encodes from one message to `most_in_datagram`. All `GrantEnded` of a datagram end in the same
// way.
std::vector<std::uint8_t> encode_run_datagram(const RunDatagram& datagram);
Result<RunDatagram, RunMessageFault> decode_run_datagram(Bytes bytes);

}  // namespace sheaf::quic
