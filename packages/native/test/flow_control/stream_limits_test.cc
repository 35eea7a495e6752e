#include "flow_control/stream_limits.h"

#include <gtest/gtest.h>

namespace sheaf::quic {
namespace {

TEST(PeerStreamLimit, AllowsAsManyAsAreConfigured) {
  PeerStreamLimit limit(2);
  EXPECT_TRUE(limit.allows(1));
  EXPECT_FALSE(limit.allows(2));
  EXPECT_FALSE(PeerStreamLimit(0).allows(0));
}

TEST(PeerStreamLimit, ExtendsBeforeHalfOfTheIdsAreUsed) {
  PeerStreamLimit limit(100);
  int streams = 0;
  do {
    limit.on_opened();
    limit.on_closed();
    ++streams;
  } while (!limit.extension_due());
  EXPECT_LE(streams, 50);
  EXPECT_GT(streams, 10) << "a frame for almost every stream";
  EXPECT_EQ(limit.limit(), 100u) << "not before it is announced";
  EXPECT_EQ(limit.announce(), 100u + streams);
}

TEST(PeerStreamLimit, ExtendsAtOnceWhenNoIdIsLeft) {
  PeerStreamLimit limit(10);
  for (int i = 0; i < 10; ++i) limit.on_opened();
  EXPECT_FALSE(limit.extension_due());
  limit.on_closed();
  EXPECT_TRUE(limit.extension_due());
  EXPECT_EQ(limit.announce(), 11u);
}

TEST(PeerStreamLimit, NeverLetsMoreBeOpenThanConfigured) {
  PeerStreamLimit limit(8);
  std::uint64_t opened = 0;
  std::uint64_t closed = 0;
  for (int round = 0; round < 1000; ++round) {
    while (limit.allows(opened)) {
      limit.on_opened();
      ++opened;
    }
    ASSERT_LE(opened - closed, 8u);
    for (int i = 0; i <= round % 8; ++i, ++closed) limit.on_closed();
    if (limit.extension_due()) limit.announce();
  }
}

TEST(PeerStreamLimit, StopsAtTheLargestStreamCount) {
  PeerStreamLimit limit(UINT64_MAX);
  EXPECT_EQ(limit.limit(), PeerStreamLimit::k_maximum);
  limit.on_opened();
  limit.on_closed();
  EXPECT_FALSE(limit.extension_due());
}

}  // namespace
}  // namespace sheaf::quic
