#include "recovery/ack_frequency_requests.h"

#include <algorithm>

#include "recovery/write_frame.h"

namespace sheaf::quic {

namespace {

// Acknowledgements per window. HyStart++ needs eight samples in a round (RFC 9406 §4.3).
constexpr std::uint64_t k_per_window = 8;
// Of a connection for messages, which needs few samples.
constexpr std::uint64_t k_per_window_of_messages = 2;
// Packets per acknowledgement. Beyond 32 little is left to save, and bursts grow.
constexpr std::uint64_t k_min_packets = 2;
constexpr std::uint64_t k_max_packets = 32;
// From here on a request saves something.
constexpr std::uint32_t k_worth_asking = 4;
// Share of the round trip for which the last packets may wait.
constexpr int k_delays_per_round_trip = 4;
constexpr Duration k_max_delay = std::chrono::milliseconds(25);
// Below the granularity of timers, one value is as good as another (RFC 9002 §6.1.2).
constexpr Duration k_min_delay = std::chrono::milliseconds(1);
// The packet threshold of loss detection: an earlier acknowledgement could not declare anything
// lost (§8 of the draft; RFC 9002 §6.1.1).
constexpr std::uint32_t k_reordering_threshold = 3;
// Packets of several senders overtake each other, which says nothing about losses: these are found
// among the packets of each.
constexpr std::uint32_t k_order_ignored = 0;

template <typename Value>
bool differ_by_two(Value one, Value other) {
  return one >= 2 * other || other >= 2 * one;
}

}  // namespace

void AckFrequencyRequests::set_peer(std::optional<Duration> min_ack_delay,
                                    std::optional<Duration> first_form) {
  first_form_ = !min_ack_delay;
  min_ack_delay_ = min_ack_delay.value_or(first_form.value_or(Duration::zero()));
  // A peer whose timer is coarser would delay what it acknowledges sooner without a request.
  takes_requests_ = (min_ack_delay || first_form) && min_ack_delay_ <= k_max_delay;
}

AckFrequency AckFrequencyRequests::wish(const Facts& facts) const {
  const std::uint64_t per_window = facts.messages ? k_per_window_of_messages : k_per_window;
  const std::uint64_t packets =
      std::clamp(facts.window_packets / per_window, k_min_packets, k_max_packets);
  const Duration delay = facts.messages
                             ? k_max_delay
                             : std::min(facts.smoothed_rtt / k_delays_per_round_trip, k_max_delay);
  return {.threshold = static_cast<std::uint32_t>(packets - 1),
          .reordering_threshold = facts.several_senders ? k_order_ignored : k_reordering_threshold,
          .max_ack_delay = std::max({delay, min_ack_delay_, k_min_delay})};
}

void AckFrequencyRequests::update(const Facts& facts) {
  if (!takes_requests_ || in_flight_) return;
  const AckFrequency wanted = wish(facts);
  const std::uint32_t packets = wanted.threshold + 1;
  const bool differs = asked_ ? wanted.reordering_threshold != asked_for_.reordering_threshold ||
                                    differ_by_two(packets, asked_for_.threshold + 1) ||
                                    differ_by_two(wanted.max_ack_delay, asked_for_.max_ack_delay)
                              : packets >= k_worth_asking;
  if (!differs && !due_) return;
  asked_for_ = wanted;
  asked_ = due_ = true;
}

void AckFrequencyRequests::write_frame(Writer& writer, SentPackets& sent) {
  const auto delay = std::chrono::duration_cast<std::chrono::microseconds>(
      std::max(asked_for_.max_ack_delay, Duration::zero()));
  const AckFrequencyFrame frame{.sequence = next_sequence_,
                                .threshold = asked_for_.threshold,
                                .max_ack_delay = static_cast<std::uint64_t>(delay.count()),
                                .reordering_threshold = asked_for_.reordering_threshold,
                                .first_form = first_form_};
  if (!quic::write_frame(writer, sent, frame, SentFrame::for_ack_frequency(next_sequence_))) return;
  ++next_sequence_;
  due_ = false;
  in_flight_ = true;
  unconfirmed_delay_ = std::max(unconfirmed_delay_, asked_for_.max_ack_delay);
}

void AckFrequencyRequests::on_acknowledged(std::uint64_t sequence) {
  if (sequence + 1 != next_sequence_) return;
  in_flight_ = false;
  // It was counted as lost, and the wish may have changed since.
  if (due_) return;
  confirmed_delay_ = asked_for_.max_ack_delay;
  unconfirmed_delay_ = Duration::zero();
}

void AckFrequencyRequests::on_lost(std::uint64_t sequence) {
  if (sequence + 1 != next_sequence_) return;
  in_flight_ = false;
  due_ = true;
}

}  // namespace sheaf::quic
