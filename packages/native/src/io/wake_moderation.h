#pragma once

#include <chrono>

#include "endpoint/endpoint.h"
#include "util/time.h"

namespace sheaf::io {

// Decides how long an endpoint leaves its sockets unread, as network cards moderate interrupts. A
// wake costs more than the acknowledgements that it brings. Where they come often, they wait a
// short time for each other, and share a wake. Nothing waits while other datagrams, such as
// requests and data, are more than a few, or while wakes are rare.
class WakeModeration {
 public:
  // Longest pause: pacers let packets go at multiples of it anyway.
  static constexpr quic::Duration k_longest = std::chrono::milliseconds(1);
  // A shorter one saves nothing.
  static constexpr quic::Duration k_shortest = std::chrono::microseconds(50);
  // A pause lasts this part of the shortest round trip at most.
  static constexpr int k_round_trip_part = 8;
  // Wakes within a pause that make one worth it, since its end is a wake, too.
  static constexpr int k_wakes_saved = 3;
  // Pauses end when they bring fewer datagrams on average, or nothing so often in a row.
  static constexpr int k_worth_pausing = 2;
  static constexpr int k_empty_reads = 2;

  // To be called when the sockets were read, with what arrived. Returns when to read them again;
  // `now` means as soon as something arrives.
  quic::Time on_read(const quic::Arrivals& arrivals, quic::Time now);

 private:
  void count(const quic::Arrivals& arrivals, quic::Time now);
  bool worth_pausing(std::size_t datagrams, quic::Duration pause, quic::Duration since);

  bool pausing_ = false;
  quic::Time last_read_{};
  quic::Duration interval_ = 4 * k_longest;            // between reads without a pause, smoothed
  double per_read_ = 0;                                // datagrams that a pause brings, smoothed
  int empty_reads_ = 0;                                // in a row
  double datagrams_ = 0;                               // of late
  double prompt_ = 0;                                  // of these
  quic::Duration round_trip_ = quic::Duration::max();  // the shortest of active connections
  quic::Time round_trip_until_{};
};

}  // namespace sheaf::io
