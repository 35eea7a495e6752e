#pragma once

#include <algorithm>
#include <optional>
#include <variant>
#include <vector>

#include "channel/types.h"
#include "channel_authentication/scheme.h"
#include "crypto/channel_secret.h"
#include "crypto/wiped_bytes.h"
#include "util/address.h"
#include "util/inplace_vector.h"
#include "util/interval_set.h"
#include "util/result.h"
#include "util/time.h"
#include "wire/types.h"

namespace sheaf::quic {

// What a source and a receiver say on the request that joins a channel (docs/reference/wire.md
// shows the layout). Capsules arrive in order. A datagram may be lost: it holds a sealed packet, or
// totals that the next one says again.

// CHANNEL_OFFER: what a receiver needs beside the keys. A later one has a higher sequence number.
struct ChannelOffer {
  ChannelId channel{};  // even: packets with repairs have the next one
  std::uint64_t sequence = 0;
  Address source;        // without a family: the source withdraws the channel, and nothing follows
  Address group;         // without a family: unicast copies alone
  TrafficSecret header;  // protects headers, whatever the keys of the packets are
  std::uint16_t packet_size = 0;  // maximum, in bytes of UDP payload
  std::uint64_t max_rate = 0;     // bytes per second, over 5 seconds
  AuthenticationOffer authentication;
  std::uint32_t reach = 0;  // newest packets that repairs and copies exist for
  Duration deadline{};      // after which a packet is worth nothing; whole milliseconds
  // Between reports of a receiver, and between packets of the source at most; whole milliseconds
  Duration report_interval{};
  std::uint16_t report_share = 0;  // of the receivers that report without a loss, in 1/65536
  bool repairs = false;            // the group also brings repairs (repair_packet.h)

  bool withdrawn() const { return source.family == Address::Family::kNone; }
  bool has_group() const { return group.family != Address::Family::kNone; }
  // For how long the log has a packet while the channel sends at its full rate; an hour at most
  Duration log_time() const {
    const double seconds = static_cast<double>(reach) * static_cast<double>(packet_size) /
                           static_cast<double>(std::max<std::uint64_t>(max_rate, 1));
    return share_of(1s, std::min(seconds, 3600.0));
  }
};

// CHANNEL_KEY: the secret of the packets from a number on
struct ChannelKey {
  ChannelId channel{};
  std::uint64_t sequence = 0;  // its lowest bit is the key phase of the packets
  PacketNumber first = 0;
  TrafficSecret secret;  // of the suite that the offer names
};

// CHANNEL_STATE: where the receiver listens
enum class ListenState : std::uint8_t {
  kWant = 0,       // wants the key, and copies
  kJoined = 1,     // joined the group; copies go on
  kReceiving = 2,  // has packets of the group, so that it needs no copies from `number` on
  kUnicast = 3,    // needs copies from `number` on
  kLeft = 4,       // for `reason`
};
struct ChannelState {
  ChannelId channel{};
  std::uint64_t offer = 0;  // sequence number of the offer that this is about
  ListenState state = ListenState::kWant;
  PacketNumber number = 0;
  LeaveReason reason = LeaveReason::kWish;
  auto operator<=>(const ChannelState&) const = default;
};

// CHANNEL_REPORT: totals of what a receiver got, and what it misses
struct ChannelReport {
  static constexpr std::size_t k_max_missing = 64;
  ChannelId channel{};
  std::uint64_t sequence = 0;   // rises with each report
  PacketNumber end = 0;         // one above the largest number that it has; 0: it has none
  std::uint64_t received = 0;   // different packets from the group
  std::uint64_t lost = 0;       // packets that the group did not bring in time
  std::uint64_t recovered = 0;  // of them, by repairs
  std::uint64_t expired = 0;    // of them, those that never came in time
  // How much intervals between arrivals from the group differ, smoothed as in RFC 3550 §6.4.1;
  // whole microseconds
  Duration jitter{};
  InplaceVector<Interval, k_max_missing> missing;  // below `end`, from the highest down
};

// CHANNEL_PACKET: the bytes of a sealed packet
struct ChannelCopy {
  Bytes packet;  // in the datagram that was decoded
};

// CHANNEL_CLOCK_QUERY: asks for the time of a source with the scheme `timed`
struct ChannelClockQuery {
  std::uint64_t nonce = 0;
};

// CHANNEL_CLOCK: the response to it
struct ChannelClock {
  std::uint64_t nonce = 0;
  SourceClock clock;
};

enum class ChannelCapsule : std::uint64_t {
  kOffer = 0x5eb0,
  kKey = 0x5eb1,
  kState = 0x5eb2,
};
// Longest value of each of these capsules, in bytes
inline constexpr std::size_t k_max_channel_capsule = 320;
// Longest CHANNEL_REPORT, in bytes. It fits into the smallest packets that every path of QUIC
// carries.
inline constexpr std::size_t k_max_channel_report = 1150;

enum class ChannelMessageFault : std::uint8_t {
  kUnknownType,
  kMalformed,  // truncated, with bytes left over, or with a value that no peer writes
};

using ChannelCapsuleValue = std::variant<ChannelOffer, ChannelKey, ChannelState>;
ChannelCapsule type_of(const ChannelCapsuleValue& value);
// Returns the value of the capsule. Its bytes may contain secrets, so its carrier encrypts and
// wipes them.
WipedBytes encode_channel_capsule(const ChannelCapsuleValue& value);
Result<ChannelCapsuleValue, ChannelMessageFault> decode_channel_capsule(std::uint64_t type,
                                                                        Bytes value);

using ChannelDatagram = std::variant<ChannelCopy, ChannelReport, ChannelClockQuery, ChannelClock>;
// Writes the kind of a datagram with a sealed packet, whose bytes follow.
inline constexpr std::size_t k_channel_copy_head = 1;
void write_channel_copy_head(Writer& out);
// Needs room for k_max_channel_report bytes.
void write_channel_report(Writer& out, const ChannelReport& report);
// Longest of these two
inline constexpr std::size_t k_max_clock_message = 1 + 8 + 8 + 4 + sizeof(MacKey);
void write_clock_query(Writer& out, const ChannelClockQuery& query);
void write_clock(Writer& out, const ChannelClock& clock);
Result<ChannelDatagram, ChannelMessageFault> decode_channel_datagram(Bytes datagram);

}  // namespace sheaf::quic
