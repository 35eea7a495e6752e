#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "util/interval_set.h"
#include "util/time.h"
#include "wire/frame_codec.h"

namespace sheaf::quic {

// How a QUIC client treats the packet numbers that reach it: which it accepts, when it acknowledges
// them, and with which ranges. Each model follows the rules of one implementation. It knows the
// numbers of one space, after the handshake, and nothing of the packets' contents.
class ReceiverModel {
 public:
  virtual ~ReceiverModel() = default;
  virtual const char* name() const = 0;
  // Takes a packet that arrives. Returns whether the client reads its frames. A refused packet is
  // never acknowledged, so its sender repeats it in vain.
  virtual bool receive(PacketNumber number, bool ack_eliciting, Time now) = 0;
  // Returns when the client sends an ACK without being asked; k_never when it owes none.
  Time ack_deadline() const { return ack_deadline_; }
  // Sends the ACK. Returns its ranges, from the largest number down.
  virtual std::vector<AckRange> acknowledge(Time now) = 0;
  // Called when an ACK of the server arrives for a packet of the client that carried an ACK with
  // these ranges (RFC 9000 §13.2.4).
  virtual void on_ack_acknowledged(std::span<const AckRange> reported) = 0;
  // Whether it takes requests for rarer acknowledgements.
  virtual bool takes_ack_frequency() const { return false; }
  // Takes an ACK_FREQUENCY frame: packets without an ACK, the longest delay, and whether the order
  // of arrival matters.
  virtual void set_ack_frequency(std::uint32_t /*tolerance*/, Duration /*delay*/,
                                 bool /*ignore_order*/) {}
  // Returns how many ranges the client keeps.
  virtual std::size_t ranges() const = 0;
  // Returns whether the client closed the connection because of the numbers.
  bool closed() const { return closed_; }

 protected:
  // Returns up to `limit` ranges, from the largest number down.
  static std::vector<AckRange> newest_ranges(const IntervalSet& numbers, std::size_t limit) {
    std::vector<AckRange> newest;
    for (std::size_t i = numbers.size(); i > 0 && newest.size() < limit; --i) {
      newest.push_back({numbers[i - 1].start, numbers[i - 1].end - 1});
    }
    return newest;
  }

  // Plans an ACK as RFC 9000 §13.2 recommends: of every second ack-eliciting packet, of one out of
  // order at once, and of any other in 25 ms.
  void plan_ack(bool in_order, Time now) {
    ++unreported_;
    const bool at_once = !in_order || unreported_ >= k_ack_every;
    ack_deadline_ = std::min(ack_deadline_, at_once ? now : now + k_max_ack_delay);
  }
  void forget_planned_ack() {
    unreported_ = 0;
    ack_deadline_ = k_never;
  }

  static constexpr std::uint32_t k_ack_every = 2;  // ack-eliciting packets
  static constexpr Duration k_max_ack_delay = 25ms;

  Time ack_deadline_ = k_never;
  std::uint32_t unreported_ = 0;  // ack-eliciting packets since the last ACK
  bool closed_ = false;
};

}  // namespace sheaf::quic
