#pragma once

#include <string>

#include "sim/receivers/receiver_model.h"

namespace sheaf::quic {

inline Time at_ms(std::int64_t milliseconds) {
  return Time(std::chrono::milliseconds(milliseconds));
}

// Delivers ack-eliciting packets with the numbers from `first` to `last`.
inline void receive_in_order(ReceiverModel& client, PacketNumber first, PacketNumber last,
                             Time now) {
  for (PacketNumber number = first; number <= last; ++number) client.receive(number, true, now);
}

// Returns ranges as text: "6-7 3-3".
inline std::string as_text(const std::vector<AckRange>& ranges) {
  std::string text;
  for (const AckRange& range : ranges) {
    if (!text.empty()) text += ' ';
    text += std::to_string(range.first) + '-' + std::to_string(range.last);
  }
  return text;
}

}  // namespace sheaf::quic
