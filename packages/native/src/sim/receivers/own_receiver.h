#pragma once

#include <array>

#include "recovery/received_packets.h"
#include "sim/receivers/receiver_model.h"

namespace sheaf::quic {

// Sheaf's own client: ReceivedPackets itself.
class OwnReceiver final : public ReceiverModel {
 public:
  const char* name() const override { return "sheaf"; }
  bool receive(PacketNumber number, bool ack_eliciting, Time now) override;
  std::vector<AckRange> acknowledge(Time now) override;
  void on_ack_acknowledged(std::span<const AckRange> reported) override;
  // Returns how many ranges the last ACK had; ReceivedPackets does not tell how many it keeps.
  std::size_t ranges() const override { return last_reported_; }

 private:
  ReceivedPackets received_;
  std::size_t last_reported_ = 0;
};

}  // namespace sheaf::quic
