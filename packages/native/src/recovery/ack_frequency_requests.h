#pragma once

#include <algorithm>
#include <optional>

#include "recovery/ack_frequency.h"
#include "recovery/sent_packets.h"
#include "util/bytes.h"

namespace sheaf::quic {

// What a sender asks of a peer that takes ACK_FREQUENCY (draft-ietf-quic-ack-frequency-11), so that
// fast transfers cost fewer acknowledgements: about eight in a round trip. A peer that does not
// announce the extension is asked nothing.
class AckFrequencyRequests {
 public:
  // Takes what the peer announced: `first_form` is for the first form of the frame. None: the peer
  // takes no requests.
  void set_peer(std::optional<Duration> min_ack_delay, std::optional<Duration> first_form);

  // The facts that the wish follows, of the path on which they allow least.
  struct Facts {
    std::uint64_t window_packets = 0;
    Duration smoothed_rtt{};
    bool several_senders = false;  // packets of other nodes are among them (direct_return/)
    bool messages = false;  // nothing is sent again, and hardly anything waits for the window
  };
  // Makes a frame due when the wish differs from the last request by a factor of two, or in whether
  // the order matters, and none is in flight.
  void update(const Facts& facts);

  bool frame_due() const { return due_; }
  // Writes the frame if it fits.
  void write_frame(Writer& writer, SentPackets& sent);
  void on_acknowledged(std::uint64_t sequence);
  void on_lost(std::uint64_t sequence);

  // Returns the longest delay that the peer may have now; `announced` is its own. A frame that
  // seemed lost may have arrived, so until the newest is acknowledged all requests since count
  // (§7).
  Duration max_ack_delay(Duration announced) const {
    return std::max(confirmed_delay_.value_or(announced), unconfirmed_delay_);
  }
  // Returns whether the peer knows IMMEDIATE_ACK.
  bool takes_immediate_ack() const { return takes_requests_ && !first_form_; }

 private:
  AckFrequency wish(const Facts& facts) const;

  bool takes_requests_ = false;
  bool first_form_ = false;
  bool due_ = false;
  bool in_flight_ = false;
  bool asked_ = false;
  Duration min_ack_delay_{};
  std::optional<Duration> confirmed_delay_;  // of the newest request that is acknowledged
  Duration unconfirmed_delay_{};             // the longest of those since
  std::uint64_t next_sequence_ = 0;
  AckFrequency asked_for_;  // by the newest frame, sent or due
};

}  // namespace sheaf::quic
