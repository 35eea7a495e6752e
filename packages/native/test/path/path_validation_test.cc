#include "path/path_validation.h"

#include <gtest/gtest.h>

namespace sheaf::quic {
namespace {

using State = PathValidation::State;
using Shown = PathValidation::Shown;

constexpr Duration k_probe_timeout = 100ms;

Time at_ms(std::int64_t milliseconds) { return Time(std::chrono::milliseconds(milliseconds)); }

class PathValidationTest : public ::testing::Test {
 protected:
  void SetUp() override { validation_.start(at_ms(0), k_probe_timeout); }
  PathChallengeFrame challenge(Time now, bool full_size = true) {
    return validation_.next_challenge(random_, now, full_size);
  }

  SeededRandom random_{7};
  PathValidation validation_;
};

TEST_F(PathValidationTest, IdleUntilStarted) {
  const PathValidation idle;
  EXPECT_EQ(idle.state(), State::kIdle);
  EXPECT_FALSE(idle.challenge_due(at_ms(0)));
  EXPECT_EQ(idle.next_timeout(), k_never);
}

TEST_F(PathValidationTest, SpacesThreeDifferentChallenges) {
  std::vector<PathData> payloads;
  for (int time : {0, 100, 200}) {
    EXPECT_FALSE(validation_.challenge_due(at_ms(time - 1)));
    ASSERT_TRUE(validation_.challenge_due(at_ms(time)));
    payloads.push_back(challenge(at_ms(time)).data);
    EXPECT_FALSE(validation_.challenge_due(at_ms(time)));
  }
  EXPECT_FALSE(validation_.challenge_due(at_ms(10'000)));
  EXPECT_NE(payloads[0], payloads[1]);
  EXPECT_NE(payloads[1], payloads[2]);
}

TEST_F(PathValidationTest, AnyChallengeMayBeAnswered) {
  const PathChallengeFrame first = challenge(at_ms(0));
  challenge(at_ms(100));
  EXPECT_EQ(validation_.on_response({first.data}, at_ms(150)), Shown::kPath);
  EXPECT_EQ(validation_.state(), State::kValidated);
  EXPECT_EQ(validation_.next_timeout(), k_never);
  EXPECT_EQ(validation_.on_response({first.data}, at_ms(160)), Shown::kNothing);
}

// RFC 9000 §8.2.3.
TEST_F(PathValidationTest, ASmallChallengeShowsTheAddressAndAnotherOneFollows) {
  const PathChallengeFrame small = challenge(at_ms(0), false);
  EXPECT_EQ(validation_.on_response({small.data}, at_ms(40)), Shown::kAddress);
  EXPECT_EQ(validation_.state(), State::kPending);
  ASSERT_TRUE(validation_.challenge_due(at_ms(40)));
  const PathChallengeFrame full = challenge(at_ms(40));
  EXPECT_EQ(validation_.on_response({small.data}, at_ms(50)), Shown::kNothing);
  EXPECT_EQ(validation_.on_response({full.data}, at_ms(80)), Shown::kPath);
  EXPECT_EQ(validation_.state(), State::kValidated);
}

TEST_F(PathValidationTest, AnAddressThatGetsNoFullDatagramsFails) {
  const PathChallengeFrame small = challenge(at_ms(0), false);
  EXPECT_EQ(validation_.on_response({small.data}, at_ms(40)), Shown::kAddress);
  challenge(at_ms(40));
  validation_.on_timeout(at_ms(339));
  EXPECT_EQ(validation_.state(), State::kPending);
  validation_.on_timeout(at_ms(340));
  EXPECT_EQ(validation_.state(), State::kFailed);
}

TEST_F(PathValidationTest, OtherPayloadsDoNotValidate) {
  // The zeros of challenges that were not sent yet must not match either.
  EXPECT_EQ(validation_.on_response({}, at_ms(0)), Shown::kNothing);
  PathChallengeFrame sent = challenge(at_ms(0));
  sent.data[7] ^= 1;
  EXPECT_EQ(validation_.on_response({sent.data}, at_ms(300)), Shown::kNothing);
  EXPECT_EQ(validation_.state(), State::kPending);
}

TEST_F(PathValidationTest, FailsAfterThreeProbeTimeouts) {
  const PathChallengeFrame sent = challenge(at_ms(0));
  validation_.on_timeout(at_ms(299));
  EXPECT_EQ(validation_.state(), State::kPending);
  validation_.on_timeout(at_ms(300));
  EXPECT_EQ(validation_.state(), State::kFailed);
  EXPECT_EQ(validation_.on_response({sent.data}, at_ms(300)), Shown::kNothing);
  EXPECT_FALSE(validation_.challenge_due(at_ms(300)));
}

TEST_F(PathValidationTest, ABlockedChallengeDoesNotSpin) {
  // Nothing could be sent at all, so the failure is the only reason to wake up.
  EXPECT_EQ(validation_.next_timeout(), at_ms(300));
  challenge(at_ms(10));
  EXPECT_EQ(validation_.next_timeout(), at_ms(110));
  validation_.on_timeout(at_ms(110));
  EXPECT_TRUE(validation_.challenge_due(at_ms(110)));
  EXPECT_EQ(validation_.next_timeout(), at_ms(300));
}

}  // namespace
}  // namespace sheaf::quic
