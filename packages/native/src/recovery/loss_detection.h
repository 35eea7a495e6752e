#pragma once

#include <functional>
#include <optional>

#include "congestion/controller.h"
#include "path/rtt_estimator.h"
#include "recovery/sent_packets.h"
#include "wire/frame_codec.h"
#include "wire/transport_error.h"

namespace sheaf::quic {

// Told what became of the frames of a path's packets.
class SentFrameListener {
 public:
  virtual ~SentFrameListener() = default;
  virtual void on_frame_acknowledged(PathId path, const SentFrame& frame) = 0;
  virtual void on_frame_lost(PathId path, const SentFrame& frame) = 0;
};

// RFC 9002 §6 and §7.6 for one packet number space. Owns what was sent; drives RTT and controller.
class LossDetection {
 public:
  LossDetection(PathId path, RttEstimator& rtt, CongestionController& controller);

  void set_controller(CongestionController& controller);
  SentPackets& sent() { return sent_; }
  const SentPackets& sent() const { return sent_; }

  // Called after `sent().commit()`.
  void on_packet_sent(PacketNumber number, Time now);

  struct AckContext {
    Duration ack_delay = Duration::zero();  // decoded
    Duration max_ack_delay = Duration::zero();
    bool handshake_confirmed = false;
    bool application_limited = false;
  };
  // Settles packets, then looks for losses. Acknowledging a packet that was not sent is
  // PROTOCOL_VIOLATION. Returns whether anything new was acknowledged through `newly_acknowledged`.
  TransportStatus on_ack(const AckFrame& frame, const AckContext& context, Time now,
                         SentFrameListener& listener, bool& newly_acknowledged);

  // Time threshold loss or probe timeout, whichever the RFC says is armed; k_never when neither.
  Time next_timeout(Duration max_ack_delay, bool handshake_confirmed) const;
  enum class TimeoutAction : std::uint8_t { kNone, kLossDetected, kProbe };
  // `kProbe`: send up to 2 ack-eliciting packets beyond the window (RFC 9002 §6.2.4).
  TimeoutAction on_timeout(Duration max_ack_delay, bool handshake_confirmed, Time now,
                           SentFrameListener& listener);
  // Bounds acks seen after an address change etc.: declares everything outstanding lost without a
  // congestion signal.
  void abandon_outstanding(SentFrameListener& listener);
  // For a probe: frames of the oldest outstanding packet are reported lost so that they are sent
  // again, while the packet stays outstanding.
  void mark_oldest_for_probe(SentFrameListener& listener);

  std::uint64_t bytes_in_flight() const { return bytes_in_flight_; }
  std::uint32_t probe_count() const { return probe_count_; }
  std::optional<PacketNumber> largest_acknowledged() const;
  std::uint64_t packets_lost() const { return packets_lost_; }
  bool has_ack_eliciting_in_flight() const { return ack_eliciting_in_flight_ > 0; }

 private:
  PathId path_;
  RttEstimator* rtt_;
  CongestionController* controller_;
  SentPackets sent_;
  std::uint64_t bytes_in_flight_ = 0;
  std::uint64_t ack_eliciting_in_flight_ = 0;
  std::uint64_t packets_lost_ = 0;
  std::uint32_t probe_count_ = 0;
  // The owner of this file completes the private state.
};

}  // namespace sheaf::quic
