#include "tunnel/first_response.h"

#include <gtest/gtest.h>

namespace sheaf::tunnel {
namespace {

using std::chrono::milliseconds;
using Direction = FirstResponse::Direction;

Time at(int time_ms) { return Time(milliseconds(time_ms)); }

TEST(FirstResponse, IsTheFirstPacketInTheOtherDirection) {
  for (const auto& [one, other] : {std::pair(Direction::kToTarget, Direction::kToClient),
                                   std::pair(Direction::kToClient, Direction::kToTarget)}) {
    FirstResponse first;
    EXPECT_FALSE(first.on_packet(one, at(100)));
    EXPECT_FALSE(first.on_packet(one, at(110)));
    EXPECT_FALSE(first.measured());
    EXPECT_EQ(first.on_packet(other, at(130)), milliseconds(30));
    EXPECT_TRUE(first.measured());
    EXPECT_FALSE(first.on_packet(one, at(140)));
    EXPECT_FALSE(first.on_packet(other, at(150)));
  }
}

TEST(FirstResponses, FollowTheirChange) {
  FirstResponses responses;
  EXPECT_FALSE(responses.smoothed());
  responses.add(milliseconds(80));
  EXPECT_EQ(responses.smoothed(), milliseconds(80));
  responses.add(milliseconds(160));
  EXPECT_EQ(responses.smoothed(), milliseconds(90));
}

}  // namespace
}  // namespace sheaf::tunnel
