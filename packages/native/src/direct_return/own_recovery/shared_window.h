#pragma once

#include <map>
#include <memory>

#include "congestion/controller.h"
#include "direct_return/own_recovery/report_messages.h"

namespace sheaf::quic {

// One congestion window for all backends of a connection, so that they are one connection to the
// network. Each backend that has something to send gets an equal share. A loss of any lowers the
// window once for each round trip: an *epoch* ends with it, and packets that were sent before their
// backend knew of the new epoch lower it no more. A pure value.
class SharedWindow {
 public:
  // The algorithm is CUBIC, unless the configuration asks for NewReno: others need more than
  // backends tell.
  explicit SharedWindow(const CongestionConfig& config);

  void open(PathId path);
  void close(PathId path);
  // The backend was given something to send.
  void expect(PathId path);
  // It has nothing to send any more.
  void rest(PathId path);
  // Returns whether the shares of others may have changed. Ignores late news.
  bool on_state(PathId path, const SenderState& state, Time now);
  // Bytes that the gateway itself has in flight, by its own window. Backends have less meanwhile.
  void note_own(std::uint64_t in_flight) { own_in_flight_ = in_flight; }
  // The client has moved to another host (RFC 9000 §9.4).
  void restart();

  // In bytes
  std::uint64_t share(PathId path) const;
  std::uint64_t window() const { return controller_->window(); }
  std::uint32_t epoch() const { return epoch_; }
  bool in_slow_start() const { return controller_->in_slow_start(); }

 private:
  struct Sender {
    SenderState state;
    bool wants = false;
  };
  std::uint64_t in_flight() const;
  void note_congestion(const SenderState& state, Time now);
  void note_delivery(const SenderState& before, const SenderState& state, Time now);

  CongestionConfig config_;
  std::unique_ptr<CongestionController> controller_;
  std::map<PathId, Sender> senders_;
  std::uint64_t own_in_flight_ = 0;
  std::uint32_t epoch_ = 1;
  // Numbers of packets over all paths, for rounds of slow start
  PacketNumber sent_ = 0;
  PacketNumber acknowledged_ = 0;
};

}  // namespace sheaf::quic
