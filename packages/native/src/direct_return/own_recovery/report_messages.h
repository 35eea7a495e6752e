#pragma once

#include <optional>

#include "util/bytes.h"
#include "util/inplace_vector.h"
#include "util/interval_set.h"
#include "util/time.h"
#include "wire/frame.h"

namespace sheaf::quic {

// Messages about a path that a gateway lent to a backend (docs/internals/direct-return.md). They
// travel like those of direct_return/run_messages.h. Every value is a total or the newest one, so a
// message that is lost, repeated or late costs time alone.

// Number of a grant, or of a lent path, within the session of a gateway and a backend
using GrantId = std::uint32_t;

// What the client says about a lent path, and what the backend may send there
struct AckReport {
  static constexpr std::size_t k_max_ranges = 64;
  // Of durations, which are rounded down
  static constexpr Duration k_unit = 1us;
  static constexpr Duration k_max_duration = k_unit * UINT32_MAX;

  GrantId path = 0;
  std::uint32_t number = 0;    // rises with each report about the path, from 1
  std::uint32_t window = 0;    // the backend's share of the congestion window, in bytes
  std::uint32_t epoch = 0;     // counts reductions of that window, from 1
  bool slow_start = false;     // the window grows by all that is acknowledged
  bool ecn = false;            // packets may be marked
  std::uint16_t datagram = 0;  // bytes of UDP payload in a packet at most
  Duration max_ack_delay{};    // of the client
  Duration ack_delay{};        // of the largest packet, as the client reported it
  Duration hold{};             // since the gateway received that frame
  std::optional<EcnCounts> counts;
  // Numbers that the client has, the highest first. The first one has the largest acknowledged.
  InplaceVector<Interval, k_max_ranges> acknowledged;
};

// What the backend did on a lent path
struct SenderState {
  GrantId path = 0;
  std::uint32_t report = 0;           // number of the newest AckReport that it has
  std::uint32_t address = 0;          // of the newest AddressChange; 0: none
  std::uint32_t generation = 0;       // of its keys
  PacketNumber generation_begin = 0;  // the first number with these keys, or the next one
  PacketNumber next = 0;              // one above the highest number that it used
  PacketNumber settled = 0;           // it need not hear of numbers below
  PacketNumber acknowledged_end = 0;  // one above the largest acknowledged number; 0: none
  std::uint64_t delivered = 0;        // bytes of packets that the client acknowledged
  std::uint32_t in_flight = 0;        // bytes
  Duration latest_rtt{};              // 0: none so far
  Duration minimum_rtt{};
  Duration smoothed_rtt{};
  std::uint32_t acknowledged_epoch = 0;  // the newest in which a packet was sent that arrived
  std::uint32_t congested_epoch = 0;     // the newest in which a packet was sent that was lost
  bool congested_by_mark = false;        // or marked
  bool persistent = false;               // and all others for long (RFC 9002 §7.6)
  bool wants = false;                    // there is something to send
  bool limited = false;                  // and the window holds it back
  bool contradicted = false;  // the client acknowledged what was not sent: the path is over
};

// The client has all bytes of a stream before this offset.
struct Delivered {
  GrantId grant = 0;
  std::uint64_t offset = 0;
  auto operator<=>(const Delivered&) const = default;
};

namespace report_messages {

// Most bytes of one message
inline constexpr std::size_t k_report_size = 44 + 12 * AckReport::k_max_ranges;
inline constexpr std::size_t k_state_size = 71;
inline constexpr std::size_t k_delivered_size = 10;

void write(Writer& out, const AckReport& report);
void write(Writer& out, const SenderState& state);
void write(Writer& out, const Delivered& delivered);
// Return false for values that no node of this version writes. The caller asks whether the message
// was cut.
bool read(Reader& in, AckReport& report);
bool read(Reader& in, SenderState& state);
bool read(Reader& in, Delivered& delivered);

}  // namespace report_messages

}  // namespace sheaf::quic
