#include "channel/held_networks.h"

#include <gtest/gtest.h>

#include "channel/world.h"

namespace sheaf::quic {
namespace {

constexpr std::uint32_t k_free_stays = 10;

NetworkKey network_number(std::uint32_t number) {
  return network_of(
      channel_address({10, static_cast<std::uint8_t>(number >> 16),
                       static_cast<std::uint8_t>(number >> 8), static_cast<std::uint8_t>(number)},
                      1));
}

// Joins for a time, and leaves.
void stay(HeldNetworks& networks, const NetworkKey& network, Time joined, Time left) {
  networks.on_joined(network);
  networks.on_left(network, joined, left);
}

TEST(HeldNetworks, HoldDownWhoComesAndGoesForTwiceAsLongEachTime) {
  HeldNetworks networks;
  const NetworkKey network = network_number(1);
  Time now{1h};
  for (std::uint32_t i = 0; i < k_free_stays; ++i) stay(networks, network, now, now + 100ms);
  EXPECT_LE(networks.held_until(network), now);
  now += 100ms;
  std::vector<Duration> waits;
  for (int i = 0; i < 50; ++i) {
    stay(networks, network, now, now);
    if (networks.held_until(network) <= now) continue;  // a new minute has begun
    EXPECT_EQ(networks.held(now), 1u);
    waits.push_back(networks.held_until(network) - now);
    now = networks.held_until(network);
    EXPECT_EQ(networks.held(now), 0u);
    EXPECT_EQ(networks.hold_downs(), waits.size());
  }
  ASSERT_GE(waits.size(), 8u);
  const std::vector<Duration> expected{1s, 2s, 4s, 8s, 16s, 32s, 60s, 60s};
  EXPECT_TRUE(std::ranges::equal(std::span(waits).first(8), expected));
  EXPECT_EQ(networks.held_until(network_number(2)), Time{});
}

TEST(HeldNetworks, AreForgottenAfterACalmTime) {
  HeldNetworks networks;
  const NetworkKey network = network_number(1);
  Time now{1h};
  for (std::uint32_t i = 0; i <= k_free_stays; ++i) stay(networks, network, now, now);
  EXPECT_EQ(networks.held_until(network), now + 1s);
  EXPECT_EQ(networks.size(), 1u);
  // A minute later a stay of two minutes begins, which is no sign of haste.
  now += 61s;
  stay(networks, network, now, now + 2min);
  EXPECT_EQ(networks.size(), 0u);
}

TEST(HeldNetworks, LeaveThoseAloneThatStay) {
  HeldNetworks networks;
  const NetworkKey network = network_number(1);
  const Time now{1h};
  for (int i = 0; i < 100; ++i) stay(networks, network, now, now + 60s);
  EXPECT_EQ(networks.held(now + 60s), 0u);
  EXPECT_EQ(networks.size(), 0u);
}

TEST(HeldNetworks, PermitMoreWhereManyClientsShareAnAddress) {
  HeldNetworks networks;
  const NetworkKey network = network_number(1);
  const Time now{1h};
  for (int i = 0; i < 200; ++i) networks.on_joined(network);
  for (std::uint32_t i = 0; i < 200 + k_free_stays; ++i) stay(networks, network, now, now + 1s);
  EXPECT_EQ(networks.held(now + 1s), 0u);
  stay(networks, network, now, now + 1s);
  EXPECT_EQ(networks.held_until(network), now + 2s);
}

TEST(HeldNetworks, ADeparteeOfAHeldNetworkDoesNotProlongItsHold) {
  HeldNetworks networks;
  const NetworkKey network = network_number(1);
  const Time now{1h};
  for (int i = 0; i < 100; ++i) networks.on_joined(network);
  for (int i = 0; i < 100; ++i) networks.on_left(network, now, now + 5s);
  EXPECT_EQ(networks.held_until(network), now + 6s);
  EXPECT_EQ(networks.hold_downs(), 1u);
}

TEST(HeldNetworks, RememberSoManyNetworksAndNoMore) {
  constexpr std::uint32_t k_capacity = 50;
  HeldNetworks networks(k_capacity);
  const Time now{1h};
  for (std::uint32_t i = 0; i <= k_free_stays; ++i) stay(networks, network_number(1), now, now);
  for (std::uint32_t i = 2; i < 10'000; ++i) {
    stay(networks, network_number(i), now, now + 1ms);
    EXPECT_LE(networks.size(), k_capacity);
  }
  EXPECT_EQ(networks.held(now), 1u) << "others are forgotten before who is held down";
  // Those in the channel are known however many they are.
  for (std::uint32_t i = 0; i < 2 * k_capacity; ++i) networks.on_joined(network_number(i));
  EXPECT_GE(networks.size(), 2 * k_capacity);
  for (std::uint32_t i = 0; i < 2 * k_capacity; ++i) {
    networks.on_left(network_number(i), now, now + 2min);
  }
  EXPECT_LE(networks.size(), k_capacity);
}

// Six members stay, and another one joins and leaves five times in a second.
struct Restless {
  explicit Restless(std::uint64_t seed)
      : world({.seed = seed, .leaf_loss = 0.01, .deadline = 600ms, .repairs = true}) {
    for (int i = 0; i < 7; ++i) world.add_member();
    world.simulation().run_for(200ms);
    start = world.simulation().now();
    for (Duration at{}; at < k_time; at += k_stay) {
      world.simulation().after(at, [this] { go_or_come(); });
    }
    world.publish_for(k_time, 4000);
    world.simulation().run_for(700ms);
  }
  void go_or_come() {
    if (present) {
      world.remove_member(6);
      present = false;
    } else {
      ++attempts;
      present = world.join_again(6);
      joins += present ? 1 : 0;
    }
  }

  static constexpr Duration k_time = 60s;
  static constexpr Duration k_stay = 100ms;
  ChannelWorld world;
  Time start;
  bool present = true;
  std::size_t attempts = 0;
  std::size_t joins = 0;
};

TEST(HeldNetworks, WhoComesAndGoesCostsLittle) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    Restless run(seed);
    EXPECT_GE(run.attempts, 500u);
    // Ten that are free, and after waits of 1, 2, 4, 8, 16 and 32 s
    EXPECT_LE(run.joins, k_free_stays + 6);
    EXPECT_GE(run.joins, k_free_stays);
    EXPECT_GE(run.world.source().held_networks().hold_downs(), 5u);
    for (std::size_t i = 0; i < 6; ++i) {
      EXPECT_EQ(run.world.late_frames(*run.world.members()[i], run.start), 0u);
      EXPECT_EQ(run.world.members()[i]->host->receiver().state(), ListenState::kReceiving);
    }
  }
}

}  // namespace
}  // namespace sheaf::quic
