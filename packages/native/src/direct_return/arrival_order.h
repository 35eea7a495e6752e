#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "connection/run_order.h"
#include "util/time.h"

namespace sheaf::quic {

// Makes the packets of several senders arrive in the order of their numbers, although their ways to
// the client differ: near senders wait. Receivers acknowledge far more often when more packets than
// half a run overtake each other (docs/decisions/0022-packet-numbers-in-runs.md). A pure value: it
// is told what the gateway numbers and measures.
class ArrivalOrder {
 public:
  using Sender = std::uint8_t;
  static constexpr Sender k_gateway = 0;
  static constexpr std::size_t k_max_senders = 9;  // with the gateway

  // A client's window of numbers is 128, and a run has up to 32 of them.
  static constexpr std::uint64_t k_window = 96;
  // Overtaken packets that a client hardly notices: half a run.
  static constexpr std::uint64_t k_tolerable = 16;
  // No packet waits longer, whatever a client makes of the ways: it decides when it acknowledges.
  // What is farther away comes late, as from a sender of its own.
  static constexpr Duration k_longest_wait = 25ms;
  // What a client makes of the ways enlarges a window by no more than that.
  static constexpr double k_max_detour = 2;
  // Samples of the last one to two spans count.
  static constexpr Duration k_span = 500ms;

  // Takes the round trip of a sender's packet: from the moment at which its run is due at a sender
  // that waits no way, to its ACK. `ack_delay` is the part of it for which the client kept the ACK
  // back; none where nobody knows: it must not be taken for a difference of ways. In order of time.
  void on_sample(Sender sender, Duration round_trip, Time now,
                 std::optional<Duration> ack_delay = Duration::zero());
  // Notes that packets of a sender were numbered now. The gateway's own packets with nothing but an
  // ACK need not be noted.
  void on_numbered(Sender sender, Time now);
  // Assumes until the first sample that the sender's way is so much longer than the gateway's.
  // Other connections may have measured it.
  void expect(Sender sender, Duration way);
  // Forgets a sender that is gone.
  void forget(Sender sender);

  // Returns by how much later a sender's packets arrive than those of the nearest sender; what
  // is expected before its first sample.
  Duration way(Sender sender) const;
  // Returns how long packets of the sender that are numbered now wait, so that they arrive after
  // what was numbered before. This holds for all of the gateway's own packets, too: one with
  // nothing but an ACK costs as many ACKs as it overtakes packets.
  Duration wait(Sender sender, Time now) const;
  // Returns what the connection may order, at a rate in packets per second. The packets that still
  // overtake each other, since ways are not certain, leave that much less to a turn. Where they are
  // more than half a run, whoever is next waits that time.
  // A wait shortens no faster than time passes, so that no sender's packets are due before those
  // with lower numbers.
  RunLimits limits(std::uint64_t rate, Time now);
  // Returns by which factor the round trip of what backends send is longer than that of the
  // gateway's own packets would be, waits included: from 1 to k_max_detour.
  // Follows a change within some round trips. `least_round_trip`: of the connection so far.
  double detour(Duration least_round_trip, Time now);
  // Returns by how much packets may overtake those of other senders, in spite of waits: at most
  // k_longest_wait.
  Duration uncertainty() const;

 private:
  static constexpr Duration k_unknown = Duration::max();
  struct Known {
    // Of backends: smallest sample of this span, of the span before, and the latest of these that
    // is known. The gateway's own packets are rare: its latest sample.
    Duration current = k_unknown;
    Duration before = k_unknown;
    Duration last = k_unknown;
    Duration expected = Duration::zero();  // way that counts before the first sample
    // By how much its way is longer than that of the nearest backend
    Duration excess = Duration::zero();
    bool measured = false;
    Time numbered_at = Time::min();
  };

  std::span<Known> backends() { return std::span(senders_).subspan(1); }
  void begin_span(Time now);
  // Returns by how much the smallest samples of this span exceed those of the span before, in the
  // mean of the senders that have both.
  Duration growth();
  void measure(Known& known, Duration round_trip);
  void settle(Known& known, Duration excess) const;
  bool is_active(Sender sender, Time now) const;
  Duration farthest_active(Time now) const;
  std::size_t active(Time now) const;

  std::array<Known, k_max_senders> senders_{};
  Time span_began_ = Time::min();
  Duration nearest_ = k_unknown;       // round trip of the nearest backend now
  Duration shortest_ = k_unknown;      // the least of that since the last pause
  Duration moved_ = Duration::zero();  // by how much that changed from one span to the next
  std::uint64_t rate_ = 0;             // packets per second, as `limits` was told
  Duration level_ = Duration::zero();  // mean round trip of the nearest backend
  bool has_level_ = false;
  double detour_ = 1;
  Time detour_at_ = Time::min();
  // What remains of the latest sample of all without the sender's way, and how much neighbouring
  // ones differ (RFC 3550 §6.4.1). Queues that fill slowly do not matter to it.
  Duration shared_ = Duration::zero();
  Duration jitter_ = Duration::zero();
  bool has_sample_ = false;
  // What `limits` returned last
  std::array<Duration, k_max_senders> waits_{};
  Time limited_at_{};
};

}  // namespace sheaf::quic
