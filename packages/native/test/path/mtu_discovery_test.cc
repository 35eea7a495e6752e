#include "path/mtu_discovery.h"

#include <gtest/gtest.h>

namespace sheaf::quic {
namespace {

Time at_ms(std::int64_t milliseconds) { return Time(std::chrono::milliseconds(milliseconds)); }

// Probes a path that carries `path_mtu` until the search rests; returns how many probes it took.
int search(MtuDiscovery& mtu, std::uint16_t path_mtu, Time now) {
  int probes = 0;
  while (const auto size = mtu.probe_due(now)) {
    EXPECT_LT(++probes, 100);
    if (probes >= 100) break;
    mtu.on_probe_sent(*size, now);
    EXPECT_FALSE(mtu.probe_due(now));
    if (*size <= path_mtu) {
      mtu.on_probe_acknowledged(*size, now);
    } else {
      mtu.on_probe_lost(*size, now);
    }
  }
  return probes;
}

TEST(MtuDiscovery, OneProbeWhenThePathCarriesTheMaximum) {
  MtuDiscovery mtu(1200, 1452);
  EXPECT_EQ(mtu.current(), 1200);
  EXPECT_EQ(search(mtu, 1500, at_ms(0)), 1);
  EXPECT_EQ(mtu.current(), 1452);
  EXPECT_FALSE(mtu.probe_due(at_ms(0) + 24h));
}

TEST(MtuDiscovery, OffWhenThereIsNothingToGain) {
  EXPECT_FALSE(MtuDiscovery(1200, 1200).probe_due(at_ms(0)));
  EXPECT_FALSE(MtuDiscovery(1200, 0).probe_due(at_ms(0)));
  EXPECT_EQ(MtuDiscovery(1200, 0).current(), 1200);
}

TEST(MtuDiscovery, ComesCloseToEveryPathMtu) {
  for (std::uint16_t path_mtu = 1200; path_mtu < 9000; path_mtu += 37) {
    MtuDiscovery mtu(1200, 9000);
    search(mtu, path_mtu, at_ms(0));
    EXPECT_LE(mtu.current(), path_mtu);
    EXPECT_GT(mtu.current() + 21, path_mtu);
  }
}

TEST(MtuDiscovery, ALostProbeAloneProvesNothing) {
  MtuDiscovery mtu(1200, 1452);
  for (int attempt = 0; attempt < 2; ++attempt) {
    mtu.on_probe_sent(1452, at_ms(0));
    mtu.on_probe_lost(1452, at_ms(0));
    EXPECT_EQ(mtu.probe_due(at_ms(0)), 1452);
  }
  mtu.on_probe_sent(1452, at_ms(0));
  mtu.on_probe_lost(1452, at_ms(0));
  EXPECT_EQ(mtu.probe_due(at_ms(0)), 1326);
  // It arrived after all.
  mtu.on_probe_acknowledged(1452, at_ms(0));
  EXPECT_EQ(mtu.current(), 1452);
}

TEST(MtuDiscovery, SearchesAgainAfterTenMinutes) {
  MtuDiscovery mtu(1200, 1452);
  search(mtu, 1300, at_ms(0));
  const std::uint16_t before = mtu.current();
  EXPECT_FALSE(mtu.probe_due(at_ms(0) + 599s));
  EXPECT_EQ(mtu.probe_due(at_ms(0) + 600s), 1452);
  search(mtu, 1452, at_ms(0) + 600s);
  EXPECT_LT(before, mtu.current());
  EXPECT_EQ(mtu.current(), 1452);
}

TEST(MtuDiscovery, FallsBackToTheBaseInABlackHole) {
  MtuDiscovery mtu(1200, 1452);
  search(mtu, 1452, at_ms(0));
  mtu.on_black_hole(at_ms(1));
  EXPECT_EQ(mtu.current(), 1200);
  search(mtu, 1350, at_ms(1));
  EXPECT_LE(mtu.current(), 1350);
  EXPECT_GT(mtu.current(), 1320);
}

}  // namespace
}  // namespace sheaf::quic
