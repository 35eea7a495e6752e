#include "sim/receivers/window_receiver.h"

namespace sheaf::quic {

bool WindowReceiver::receive(PacketNumber number, bool ack_eliciting, Time now) {
  if (largest_ && number + window_ <= *largest_) return false;
  if (seen_.contains(number)) return false;
  accept(number, ack_eliciting, now);
  if (*largest_ >= window_) seen_.erase(0, *largest_ - window_ + 1);
  return true;
}

}  // namespace sheaf::quic
