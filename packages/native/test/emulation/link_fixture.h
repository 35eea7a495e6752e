#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "emulation/link.h"
#include "emulation/units.h"

namespace sheaf::quic {

inline Time at_us(std::int64_t microseconds) {
  return Time(std::chrono::microseconds(microseconds));
}
inline Time at_ms(std::int64_t milliseconds) { return at_us(1000 * milliseconds); }

// Makes a datagram whose first four bytes are the number.
inline void send(Link& link, std::uint32_t number, Time now, std::size_t size = 1000,
                 Ecn ecn = Ecn::kNotEct) {
  std::vector<std::uint8_t> payload(size);
  std::memcpy(payload.data(), &number, sizeof number);
  link.send(payload, {.path = {}, .ecn = ecn}, now);
}

struct Arrived {
  std::uint32_t number;
  Time when;
  Ecn ecn;
};

// Returns the datagrams that have arrived by `now`.
inline void receive(Link& link, Time now, std::vector<Arrived>& arrived) {
  while (const LinkDatagram* next = link.poll_arrival(now)) {
    std::uint32_t number;
    std::memcpy(&number, next->payload().data(), sizeof number);
    arrived.push_back({number, now, next->header.ecn});
  }
}

// Returns all datagrams that still arrive.
inline std::vector<Arrived> drain(Link& link) {
  std::vector<Arrived> arrived;
  while (link.next_timeout() != k_never) receive(link, link.next_timeout(), arrived);
  return arrived;
}

inline void expect_conservation(const Link& link) {
  const LinkStats& stats = link.stats();
  EXPECT_EQ(stats.sent + stats.duplicated, stats.too_large + stats.queue_full +
                                               stats.queue_managed + stats.down + stats.lost +
                                               stats.delivered + link.in_transit());
}

}  // namespace sheaf::quic
