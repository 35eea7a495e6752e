#pragma once

#include "util/time.h"

namespace sheaf::quic {

// RFC 9002 §5.
class RttEstimator {
 public:
  explicit RttEstimator(Duration initial = std::chrono::milliseconds(333));
  // `ack_delay` as the peer said it; it is bounded by `max_ack_delay` once the handshake is confirmed.
  void add_sample(Duration latest, Duration ack_delay, Duration max_ack_delay,
                  bool handshake_confirmed);
  // The estimate of a handshake; replaced by the first own sample.
  void set_initial(Duration initial);

  bool has_sample() const;
  Duration latest() const;
  Duration minimum() const;
  Duration smoothed() const;
  Duration variance() const;
  // RFC 9002 §6.2.1, without backoff.
  Duration probe_timeout(Duration max_ack_delay) const;
  // RFC 9002 §6.1.2.
  Duration loss_delay() const;

 private:
  bool has_sample_ = false;
  Duration latest_{};
  Duration minimum_{};
  Duration smoothed_{};
  Duration variance_{};
};

}  // namespace sheaf::quic
