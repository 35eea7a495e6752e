#include "switchboard/returned_bodies.h"

#include <gtest/gtest.h>

namespace sheaf::switchboard {
namespace {

using quic::HeldPayload;
using quic::PayloadRead;

constexpr std::uint64_t k_start = 40;

class ReturnedBodiesTest : public ::testing::Test {
 protected:
  ReturnedBodies::Followed hold(std::uint64_t length) {
    return bodies.hold({.session = 2, .grant = 3, .start = k_start, .length = length});
  }
  static PayloadRead read(quic::PayloadSource& source, std::uint64_t offset, std::size_t size) {
    std::vector<std::uint8_t> out(size);
    return source.read(offset, out);
  }
  static std::vector<std::uint8_t> bytes(std::size_t size) {
    return std::vector<std::uint8_t>(size);
  }

  int notified = 0;
  ReturnedBodies bodies{[this] { ++notified; }};
};

TEST_F(ReturnedBodiesTest, SaysHowMuchWasSentWhenABodyIsOver) {
  auto body = hold(100'000);
  ASSERT_TRUE(body.source);
  EXPECT_EQ(bodies.find(body.number)->grant, 3u);
  bodies.held(body.number)->append(bytes(5'000));
  EXPECT_EQ(body.source->available(), k_start + 5'000);
  EXPECT_EQ(read(*body.source, k_start + 1'000, 2'000), PayloadRead::kDone);
  EXPECT_EQ(read(*body.source, k_start, 1'000), PayloadRead::kDone);
  EXPECT_EQ(read(*body.source, k_start + 4'000, 2'000), PayloadRead::kNotThere);
  EXPECT_EQ(bodies.sent(body.number), 3'000u);
  EXPECT_FALSE(bodies.any_events());
  body.source.reset();
  EXPECT_EQ(notified, 1);
  const auto events = bodies.take_events();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].body, body.number);
  EXPECT_TRUE(events[0].over);
  EXPECT_EQ(events[0].sent, 3'000u);
  EXPECT_FALSE(bodies.any_events());
  EXPECT_EQ(bodies.find(body.number), nullptr);
  EXPECT_EQ(bodies.held(body.number), nullptr);
  bodies.await_room(body.number);
}

TEST_F(ReturnedBodiesTest, SaysOnceThatThereIsRoom) {
  auto body = hold(10'000'000);
  HeldPayload& held = *bodies.held(body.number);
  held.append(bytes(HeldPayload::k_max_held));
  body.source->release(k_start + HeldPayload::k_max_held / 2);
  EXPECT_FALSE(bodies.any_events());  // nobody asked
  held.append(bytes(held.room()));
  bodies.await_room(body.number);
  body.source->release(k_start + HeldPayload::k_max_held / 2 + 1);
  EXPECT_FALSE(bodies.any_events());  // too little to be worth it
  body.source->release(k_start + HeldPayload::k_max_held);
  body.source->release(k_start + HeldPayload::k_max_held + 1);
  const auto events = bodies.take_events();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].body, body.number);
  EXPECT_FALSE(events[0].over);
}

TEST_F(ReturnedBodiesTest, BoundsWhatAllHoldTogether) {
  std::vector<ReturnedBodies::Followed> large;
  for (std::size_t i = 0; i < ReturnedBodies::k_max_held / HeldPayload::k_max_held; ++i) {
    ASSERT_TRUE(large.emplace_back(hold(1 << 30)).source);
  }
  EXPECT_FALSE(hold(1).source);
  large.pop_back();
  std::vector<ReturnedBodies::Followed> small;
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(small.emplace_back(hold(HeldPayload::k_max_held / 2)).source);
  }
  EXPECT_FALSE(hold(1).source);
}

TEST_F(ReturnedBodiesTest, FollowsBytesThatAreElsewhere) {
  auto source = std::make_unique<HeldPayload>(k_start);
  source->append(bytes(100));
  auto body =
      bodies.follow({.session = 2, .grant = 3, .start = k_start, .length = 100}, std::move(source));
  EXPECT_EQ(bodies.held(body.number), nullptr);
  EXPECT_EQ(read(*body.source, k_start, 100), PayloadRead::kDone);
  body.source->release(k_start + 100);
  body.source.reset();
  EXPECT_EQ(bodies.take_events().at(0).sent, 100u);
}

}  // namespace
}  // namespace sheaf::switchboard
