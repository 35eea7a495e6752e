#include "channel/loss_watch.h"

#include <gtest/gtest.h>

#include "channel/back_off.h"

namespace sheaf::quic {
namespace {

// A receiver that reports every 200 ms, while the source sends 50 packets
struct Watched {
  // Returns whether one of so many reports was the last straw.
  bool report(int reports, std::uint64_t lost, std::uint64_t named, std::uint64_t expired = 0) {
    bool is_lossy = false;
    for (int i = 0; i < reports; ++i) {
      now += 200ms;
      end += 50;
      report_.lost += lost;
      report_.expired += expired;
      report_.missing = {};
      if (named > 0) report_.missing.push_back({end - named, end});
      is_lossy = watch.on_report(report_, end, now) || is_lossy;
    }
    return is_lossy;
  }

  LossWatch watch;
  PacketNumber end = 1000;
  Time now{1s};
  ChannelReport report_;
};

TEST(LossWatch, FindsLossesThatStay) {
  Watched lossy;
  EXPECT_FALSE(lossy.report(15, 6, 0));
  EXPECT_TRUE(lossy.report(1, 6, 0));
  Watched fine;
  EXPECT_FALSE(fine.report(60, 5, 0));
}

TEST(LossWatch, FindsWhatIsNotRepaired) {
  Watched late;
  EXPECT_FALSE(late.report(60, 3, 0, 1));
  EXPECT_TRUE(late.report(16, 3, 0, 2));
}

TEST(LossWatch, OneBurstIsNoReason) {
  Watched burst;
  EXPECT_FALSE(burst.report(10, 50, 0));
  EXPECT_FALSE(burst.report(60, 0, 0));
  EXPECT_FALSE(burst.report(10, 50, 0));
}

TEST(LossWatch, FindsWhoNamesLossesThatItsTotalsHide) {
  Watched liar;
  EXPECT_TRUE(liar.report(16, 0, 40));
  Watched shrinking;
  shrinking.report_.lost = 1000;
  EXPECT_FALSE(shrinking.report(1, 0, 0));
  shrinking.report_.lost = 0;
  EXPECT_FALSE(shrinking.report(30, 0, 0));
}

TEST(LossWatch, BeginsAnew) {
  Watched again;
  EXPECT_FALSE(again.report(15, 6, 0));
  again.watch.begin(again.end, again.now);
  EXPECT_FALSE(again.report(15, 6, 0));
  EXPECT_TRUE(again.report(1, 6, 0));
}

TEST(BackOff, DoublesUpToItsLongestAndForgetsAfterACalmTime) {
  BackOff back_off;
  const BackOff::Range range{.shortest = 30s, .longest = 10min};
  Time now{1s};
  for (const auto expected : {30s, 60s, 120s, 240s, 480s, 600s, 600s}) {
    back_off.begin(range, now);
    EXPECT_EQ(back_off.until(), now + expected);
    now = back_off.until() + 10s;
  }
  back_off.begin(range, now + 10min);
  EXPECT_EQ(back_off.until(), now + 10min + 30s);
}

}  // namespace
}  // namespace sheaf::quic
