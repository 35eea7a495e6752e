#pragma once

#include "sim/host.h"

namespace sheaf::quic {

// A host whose clock is not that of the simulation: it jumps back, or stands still with the host
class OwnClock final : public Host {
 public:
  // `host` lives longer.
  explicit OwnClock(Host& host) : host_(host) {}

  void jump_back(Duration by) { behind_ += by; }
  // The host does nothing until `resume`, and receives nothing.
  void halt() { halted_ = true; }
  // `halted` ago it was halted.
  void resume(Duration halted) {
    halted_ = false;
    behind_ += halted;
  }

  void receive(const Datagram& datagram, Time now) override {
    if (!halted_) host_.receive(datagram, now - behind_);
  }
  void poll_transmit(TransmitBatch& batch, Time now) override {
    if (!halted_) host_.poll_transmit(batch, now - behind_);
  }
  Time next_timeout() const override {
    const Time shown = halted_ ? k_never : host_.next_timeout();
    return shown == k_never ? k_never : shown + behind_;
  }
  void on_timeout(Time now) override {
    if (!halted_) host_.on_timeout(now - behind_);
  }

 private:
  Host& host_;
  Duration behind_{};
  bool halted_ = false;
};

}  // namespace sheaf::quic
