#pragma once

#include <optional>

#include "direct_return/own_recovery/report_messages.h"

namespace sheaf::quic {

// What the gateway tells a backend about one lent path: gathers what the client acknowledges until
// the backend has it. A client that knows its acknowledgement to have arrived need not repeat it
// (RFC 9000 §13.2.4), so the gateway does. A pure value.
class AckReports {
 public:
  // Takes a PATH_ACK, whose `delay` was decoded. Returns false when no backend can have used the
  // numbers.
  [[nodiscard]] bool on_frame(const AckFrame& frame, Duration delay, Time now);
  // The backend has this report, and need not hear of numbers below `settled`.
  void on_state(std::uint32_t report, PacketNumber settled);
  // Something else is to be told: a share, or that the backend has no report yet.
  void tell() { news_ = true; }

  // Reports are as far apart as the shorter of 5 ms and an eighth of the round trip, and at least
  // 1 ms. A gap or a mark is reported at once.
  Time next_timeout(Duration round_trip) const;
  // Returns the next report, with `path`, the window and what belongs to it left out.
  AckReport make(Time now);

 private:
  static constexpr std::size_t k_max_kept = 512;
  static constexpr Duration k_repeat_interval = 50ms;

  IntervalSet acknowledged_;  // of which the backend may not know
  std::optional<PacketNumber> largest_;
  Time largest_at_{};  // when it was acknowledged
  Duration delay_{};
  std::optional<EcnCounts> counts_;
  PacketNumber settled_ = 0;
  std::uint32_t number_ = 0;     // of the last report
  std::uint32_t confirmed_ = 0;  // the newest that the backend has
  Time told_at_ = Time::min();
  bool news_ = true;
  bool urgent_ = false;
};

}  // namespace sheaf::quic
