#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "sim/receivers/receiver_model.h"

namespace sheaf::quic {

// neqo, as Firefox uses it (tracking.rs). It tracks 32 ranges, also those that the server knows to
// be acknowledged. One more pushes the lowest out, and all numbers up to that one are over.
class NeqoReceiver final : public ReceiverModel {
 public:
  static constexpr std::size_t k_max_ranges = 32;

  // An ACK is allowed early when the last one is `rtt` ago.
  explicit NeqoReceiver(Duration rtt) : rtt_(rtt) {}

  const char* name() const override { return tolerance_ == 1 ? "neqo" : "neqo with ACK_FREQUENCY"; }
  bool receive(PacketNumber number, bool ack_eliciting, Time now) override;
  std::vector<AckRange> acknowledge(Time now) override;
  void on_ack_acknowledged(std::span<const AckRange> reported) override;
  std::size_t ranges() const override { return ranges_.size(); }
  bool takes_ack_frequency() const override { return true; }
  void set_ack_frequency(std::uint32_t tolerance, Duration delay, bool ignore_order) override;

 private:
  struct Range {
    AckRange numbers;
    bool ack_needed = true;
  };

  void insert(PacketNumber number);

  Duration rtt_;
  std::uint32_t tolerance_ = 1;
  Duration ack_delay_ = 20ms;
  bool ignore_order_ = false;
  std::deque<Range> ranges_;      // from the largest number down
  PacketNumber min_tracked_ = 0;  // lower numbers are over
  std::optional<Time> last_ack_;
  std::optional<Time> ack_due_;
};

}  // namespace sheaf::quic
