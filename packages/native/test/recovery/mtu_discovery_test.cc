#include "recovery/mtu_discovery.h"

#include <gtest/gtest.h>

#include "recovery/times.h"

namespace sheaf::quic {
namespace {

// Probes a path that carries `path_mtu` until the search pauses. Returns the number of probes.
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

TEST(MtuDiscovery, ASizeThatIsTriedFirstSparesLostProbesAndDoesNotReplaceTheMaximum) {
  MtuDiscovery wide(1200, 1452);
  wide.try_first(1350);
  EXPECT_EQ(wide.probe_due(at_ms(0)), 1350);
  EXPECT_EQ(search(wide, 1500, at_ms(0)), 2);
  EXPECT_EQ(wide.current(), 1452);

  MtuDiscovery narrow(1200, 1452);
  narrow.try_first(1350);
  narrow.on_probe_sent(1350, at_ms(0));
  narrow.on_probe_acknowledged(1350, at_ms(0));
  EXPECT_EQ(narrow.current(), 1350);
  EXPECT_EQ(narrow.probe_due(at_ms(0)), 1452);
  search(narrow, 1400, at_ms(0));
  EXPECT_GT(narrow.current(), 1380);

  for (const std::uint16_t size : std::initializer_list<std::uint16_t>{0, 1200, 1210, 1452, 2000}) {
    MtuDiscovery mtu(1200, 1452);
    mtu.try_first(size);
    EXPECT_EQ(mtu.probe_due(at_ms(0)), 1452) << size;
  }
}

TEST(MtuDiscovery, BeginsWithWhatThePathIsKnownToCarry) {
  MtuDiscovery mtu(1200, 1452);
  mtu.on_carried(1350);
  EXPECT_EQ(mtu.current(), 1350);
  EXPECT_EQ(mtu.probe_due(at_ms(0)), 1452);
  mtu.on_carried(1200);
  EXPECT_EQ(mtu.current(), 1350);
  mtu.on_black_hole(at_ms(0));
  EXPECT_EQ(mtu.current(), 1200);

  MtuDiscovery whole(1200, 1452);
  whole.on_carried(9000);
  EXPECT_EQ(whole.current(), 1452);
  EXPECT_FALSE(whole.probe_due(at_ms(0)));
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

TEST(MtuDiscovery, JumboFramesAreTriedOnceAndLeaveTheOrdinarySizeAsItIs) {
  MtuDiscovery carried(1200, 1452, 8952);
  carried.try_jumbo();
  EXPECT_EQ(carried.probe_due(at_ms(0)), 1452) << "the ordinary size comes first";
  search(carried, 9000, at_ms(0));
  EXPECT_EQ(carried.current(), 1452) << "nobody asked for more";
  carried.try_jumbo();
  EXPECT_EQ(search(carried, 9000, at_ms(0)), 1);
  EXPECT_EQ(carried.current(), 8952);

  MtuDiscovery refused(1200, 1452, 8952);
  search(refused, 1500, at_ms(0));
  refused.try_jumbo();
  EXPECT_EQ(search(refused, 1500, at_ms(0)), 3);
  EXPECT_EQ(refused.current(), 1452);
  refused.try_jumbo();
  EXPECT_FALSE(refused.probe_due(at_ms(0) + 24h));

  MtuDiscovery narrow(1200, 1452, 8952);
  search(narrow, 1300, at_ms(0));
  narrow.try_jumbo();
  EXPECT_FALSE(narrow.probe_due(at_ms(0) + 1min)) << "the path does not carry the ordinary size";

  MtuDiscovery off(1200, 0, 8952);
  off.try_jumbo();
  EXPECT_FALSE(off.probe_due(at_ms(0)));

  // The peer accepts no jumbo frames, but a little more than the ordinary size.
  MtuDiscovery little(1200, 1452, 1472);
  search(little, 9000, at_ms(0));
  little.try_jumbo();
  EXPECT_FALSE(little.probe_due(at_ms(0) + 24h));
}

TEST(MtuDiscovery, APathThatLosesItsJumboFramesFallsBackToTheOrdinarySize) {
  MtuDiscovery mtu(1200, 1452, 8952);
  search(mtu, 9000, at_ms(0));
  mtu.try_jumbo();
  search(mtu, 9000, at_ms(0));
  ASSERT_EQ(mtu.current(), 8952);
  EXPECT_EQ(mtu.ordinary(), 1452);
  mtu.on_black_hole(at_ms(1000));
  EXPECT_EQ(mtu.current(), 1200);
  EXPECT_EQ(search(mtu, 1500, at_ms(1000)), 1);
  EXPECT_EQ(mtu.current(), 1452);
  mtu.try_jumbo();
  EXPECT_FALSE(mtu.probe_due(at_ms(1000) + 24h));

  MtuDiscovery searching(1200, 1452, 8952);
  search(searching, 1500, at_ms(0));
  searching.try_jumbo();
  searching.on_probe_sent(8952, at_ms(0));
  searching.on_black_hole(at_ms(0));
  search(searching, 1400, at_ms(0));
  EXPECT_LE(searching.current(), 1400);
  EXPECT_GT(searching.current(), 1379);
}

TEST(MtuDiscovery, LossesOfJumboFramesCountUntilOneArrives) {
  MtuDiscovery mtu(1200, 1452, 8952);
  search(mtu, 9000, at_ms(0));
  for (int i = 0; i < 10; ++i) mtu.on_lost(1452, at_ms(i), at_ms(i));
  ASSERT_EQ(mtu.current(), 1452) << "ordinary losses prove nothing";
  mtu.try_jumbo();
  search(mtu, 9000, at_ms(0));
  for (int i = 0; i < 10; ++i) {
    mtu.on_lost(8952, at_ms(10 * i + 10), at_ms(10 * i + 11));
    mtu.on_acknowledged(1452);
    mtu.on_lost(1453, at_ms(10 * i + 12), at_ms(10 * i + 13));
    mtu.on_acknowledged(1453);
    mtu.on_lost(1452, at_ms(10 * i + 14), at_ms(10 * i + 15));
  }
  ASSERT_EQ(mtu.current(), 8952);
  for (int i = 0; i < 10; ++i) mtu.on_lost(8952, at_ms(200), at_ms(201 + i));
  ASSERT_EQ(mtu.current(), 8952) << "losses of one flight";
  for (int i = 0; i < 2; ++i) mtu.on_lost(8952, at_ms(300 + i), at_ms(300 + i));
  EXPECT_EQ(mtu.current(), 1200);
  search(mtu, 9000, at_ms(0));
  for (int i = 0; i < 10; ++i) mtu.on_lost(8952, at_ms(400 + i), at_ms(400 + i));
  EXPECT_EQ(mtu.current(), 1452) << "they left before it fell back";
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
  // The packet arrived after all.
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
