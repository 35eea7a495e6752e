#include <gtest/gtest.h>

#include "channel/world.h"

namespace sheaf::quic {
namespace {

constexpr std::uint64_t k_moving_seeds = 50;
constexpr std::size_t k_moving_frame = 3000;  // bytes every 33 ms

// Everything that can happen to members in one run: they join, leave, begin anew and get other
// addresses, branches are cut and come back, and keys change every second. Times follow from the
// seed.
class Moving {
 public:
  explicit Moving(std::uint64_t seed)
      : random_(seed),
        world_({.seed = seed,
                .leaf_loss = 0.02,
                .unicast_loss = 0.02,
                .key_interval = 1s,
                .deadline = 700ms,
                .scheme = AuthenticationScheme::kSigned,
                .repairs = true}) {
    for (int i = 0; i < 3; ++i) join();
  }

  void run() {
    world_.simulation().run_for(200ms);
    within(1s, [this] { join(); });
    within(1s, [this] { leave(0); });
    within(1s, [this] { begin_anew(1); });
    within(1s, [this] { move(2); });
    within(1s, [this] { cut(world_.branch(0), 300ms + within_(1s)); });
    within(1s, [this] { cut(world_.branch(1), 300ms + within_(1s)); });
    within(1s, [this] { cut(world_.branch(2), within_(300ms)); });
    world_.publish_for(3200ms, k_moving_frame);
    world_.simulation().run_for(800ms);
  }

  void expect_no_loss() {
    ASSERT_EQ(world_.members().size(), 5u);
    for (std::size_t i = 0; i < world_.members().size(); ++i) {
      const auto& member = *world_.members()[i];
      EXPECT_FALSE(member.wrong_bytes) << member.name;
      if (gone_[i]) continue;
      EXPECT_EQ(world_.late_frames(member, joined_[i]), 0u) << member.name;
      EXPECT_EQ(member.host->receiver().counts().expired, 0u) << member.name;
      EXPECT_EQ(member.host->receiver().counts().pauses, 0u) << member.name;
      EXPECT_EQ(member.host->receiver().state(), ListenState::kReceiving) << member.name;
      EXPECT_GE(member.host->newest_key()->sequence, 2u) << member.name;
    }
  }

 private:
  Duration within_(Duration limit) {
    return Duration(
        static_cast<Duration::rep>(random_.below(static_cast<std::uint64_t>(limit.count()))));
  }
  void within(Duration limit, std::function<void()> act) {
    world_.simulation().after(500ms + within_(limit), std::move(act));
  }
  void join() {
    world_.add_member();
    joined_.push_back(world_.simulation().now());
    gone_.push_back(false);
  }
  void leave(std::size_t member) {
    world_.remove_member(member);
    gone_[member] = true;
  }
  // The process is restarted.
  void begin_anew(std::size_t member) {
    leave(member);
    world_.simulation().after(200ms, [this] { join(); });
  }
  // The group comes to the new address a while later.
  void move(std::size_t member) {
    world_.move_member(member);
    cut(*world_.members()[member]->leaf, within_(500ms));
  }
  void cut(NetworkPath& path, Duration duration) {
    const bool is_leaf = path.there.config().loss > 0;
    path.there.change({.down = true}, world_.simulation().now());
    world_.simulation().after(duration, [this, &path, is_leaf] {
      const LinkConfig link = is_leaf ? world_.leaf_link() : LinkConfig{.delay = 3ms};
      path.there.change(link, world_.simulation().now());
    });
  }

  SeededRandom random_;
  ChannelWorld world_;
  std::vector<Time> joined_;
  std::vector<bool> gone_;
};

TEST(MovingNetwork, LosesNoFrameWhateverHappens) {
  for (std::uint64_t seed = 1; seed <= k_moving_seeds; ++seed) {
    Moving moving(seed);
    moving.run();
    moving.expect_no_loss();
  }
}

}  // namespace
}  // namespace sheaf::quic
