#pragma once

#include <algorithm>

#include "channel/channel_messages.h"

namespace sheaf::quic {

// Whether a receiver loses too much of what the group brings, by its own reports. A window ends
// with the first report after at least a second and 100 packets, as the source counts them. Three
// bad windows in a row are too much: one burst is none of the receiver's way.
class LossWatch {
 public:
  // What was lost until now does not count.
  void begin(PacketNumber sent_end, Time now) {
    sent_end_ = sent_end;
    since_ = now;
    named_ = bad_ = 0;
    begun_ = false;
  }
  // Returns whether the last three windows were bad.
  bool on_report(const ChannelReport& report, PacketNumber sent_end, Time now) {
    std::uint64_t named = 0;
    for (const Interval& range : report.missing.view()) named += range.size();
    named_ =
        std::max(named_, static_cast<std::uint32_t>(std::min<std::uint64_t>(named, UINT32_MAX)));
    if (!begun_) begin_window(report, sent_end, now);
    const std::uint64_t sent = sent_end - sent_end_;
    if (sent < k_packets || now < since_ + k_window) return false;
    // Who names losses that its totals hide lost them as well.
    const std::uint64_t lost =
        std::max<std::uint64_t>(report.lost - std::min(report.lost, lost_), named_);
    const std::uint64_t expired = report.expired - std::min(report.expired, expired_);
    const bool is_bad =
        lost * 100 > k_max_lost_percent * sent || expired * 100 > k_max_expired_percent * sent;
    if (!is_bad) bad_ = 0;
    if (is_bad && bad_ < k_bad_windows) ++bad_;
    begin_window(report, sent_end, now);
    return bad_ >= k_bad_windows;
  }

 private:
  static constexpr Duration k_window = 1s;
  static constexpr std::uint64_t k_packets = 100;
  static constexpr std::uint8_t k_bad_windows = 3;
  static constexpr std::uint64_t k_max_lost_percent = 10;    // before repair
  static constexpr std::uint64_t k_max_expired_percent = 2;  // that nothing brought in time

  void begin_window(const ChannelReport& report, PacketNumber sent_end, Time now) {
    begun_ = true;
    lost_ = report.lost;
    expired_ = report.expired;
    sent_end_ = sent_end;
    since_ = now;
    named_ = 0;
  }

  std::uint64_t lost_ = 0;
  std::uint64_t expired_ = 0;
  PacketNumber sent_end_ = 0;
  Time since_{};
  std::uint32_t named_ = 0;  // packets that one report of the window named, at most
  std::uint8_t bad_ = 0;     // windows in a row, at most k_bad_windows
  bool begun_ = false;       // a report says where the window begins
};

}  // namespace sheaf::quic
