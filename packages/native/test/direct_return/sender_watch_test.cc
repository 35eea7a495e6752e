#include "direct_return/sender_watch.h"

#include <gtest/gtest.h>

namespace sheaf::quic {
namespace {

constexpr Duration k_probe_timeout = 50ms;

struct SenderWatchTest : testing::Test {
  bool unreachable() const { return watch.unreachable(k_probe_timeout); }
  // The backend sends, and the client acknowledges what another node sent right after it, alone.
  void miss(std::uint64_t end, Duration later) {
    watch.on_executed(end, start + later);
    watch.on_other_acknowledged(start + later + 1ms);
  }

  SenderWatch watch;
  const Time start = Time(1s);
};

TEST_F(SenderWatchTest, SeesThatPacketsOfABackendDoNotArrive) {
  miss(32, 0ms);
  miss(64, 100ms);
  miss(64, 120ms);  // nothing new
  watch.on_other_acknowledged(start + 140ms);
  miss(96, 148ms);
  EXPECT_FALSE(unreachable()) << "three probe timeouts are not over";
  watch.on_other_acknowledged(start + 150ms);
  EXPECT_TRUE(unreachable());
  watch.on_acknowledged(96);
  EXPECT_FALSE(unreachable());
}

TEST_F(SenderWatchTest, WaitsLongerForABackendThatHasReachedTheClient) {
  watch.on_acknowledged(32);
  miss(64, 0ms);
  miss(96, 100ms);
  miss(128, 1998ms);
  EXPECT_FALSE(unreachable());
  watch.on_other_acknowledged(start + 2s);
  EXPECT_TRUE(unreachable());
}

// However long it takes, the client has missed nothing before it acknowledges what came later.
TEST_F(SenderWatchTest, BlamesNoBackendForWhatAnybodyDoesLate) {
  watch.on_executed(32, start);
  watch.on_executed(64, start + 1s);
  watch.on_executed(96, start + 10s);
  EXPECT_FALSE(unreachable()) << "the client may be gone";
  watch.on_other_acknowledged(start - 1ms);
  EXPECT_FALSE(unreachable()) << "it has just read what is older";
  // While it was busy, its socket was full. What came then is lost.
  watch.on_other_acknowledged(start + 20s);
  EXPECT_FALSE(unreachable());
  watch.on_executed(128, start + 20s);
  watch.on_acknowledged(128);
  watch.on_other_acknowledged(start + 21s);
  EXPECT_FALSE(unreachable());
}

// The ACK of a near client overtakes the report of the backend, which may then pause.
TEST_F(SenderWatchTest, KnowsWhichPacketsTheClientHas) {
  watch.on_executed(32, start);
  watch.on_acknowledged(64);
  for (const std::uint64_t end : {48, 56, 64}) miss(end, Duration(2s) * end);
  EXPECT_FALSE(unreachable());
  for (const std::uint64_t end : {65, 66, 67}) miss(end, Duration(2s) * end);
  EXPECT_TRUE(unreachable());
}

TEST_F(SenderWatchTest, ForgetsWhatWentToAnEarlierAddress) {
  for (const std::uint64_t end : {1, 2, 3}) miss(end, Duration(1s) * end);
  EXPECT_TRUE(unreachable());
  watch.restart();
  EXPECT_FALSE(unreachable());
}

}  // namespace
}  // namespace sheaf::quic
