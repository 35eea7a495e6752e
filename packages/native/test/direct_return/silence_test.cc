#include "direct_return/silence.h"

#include <gtest/gtest.h>

namespace sheaf::quic {
namespace {

TEST(Silence, LastsAfterThreeStepsAndTheTimeToRead) {
  Time now(1s);
  Silence silence(now);
  for (int step = 0; step < 3; ++step) {
    EXPECT_EQ(silence.deadline(), now + 200ms);
    EXPECT_FALSE(silence.look(now + 199ms));
    now += 200ms;
    EXPECT_FALSE(silence.look(now));
    EXPECT_FALSE(silence.look(now)) << "one step at a time";
  }
  EXPECT_EQ(silence.deadline(), now + 10ms);
  now += 10ms;
  EXPECT_TRUE(silence.look(now));
  EXPECT_EQ(silence.deadline(), now);
  EXPECT_TRUE(silence.look(now + 1ms)) << "for each connection";
  silence.on_word(now);
  EXPECT_FALSE(silence.look(now + 1ms));
}

// What the other node said meanwhile waits in the socket.
TEST(Silence, CountsNoTimeInWhichThisProcessDidNotRun) {
  Time now(1s);
  Silence silence(now);
  for (int pause = 0; pause < 100; ++pause) {
    now += 200ms;
    EXPECT_FALSE(silence.look(now));
    now += 200ms;
    EXPECT_FALSE(silence.look(now));
    now += 10s;
    EXPECT_FALSE(silence.look(now));
    now += 1ms;
    silence.on_word(now);
  }
}

}  // namespace
}  // namespace sheaf::quic
