#include "sim/simulation.h"

#include <gtest/gtest.h>

#include "emulation/units.h"
#include "sim/host_address.h"
#include "sim/scripted_host.h"

namespace sheaf::quic {
namespace {

using Outcome = Simulation::Outcome;

class SimulationTest : public ::testing::Test {
 protected:
  static constexpr std::uint64_t k_seed = 99;
  SimulationTest() {
    simulation_.add_host("client", client_);
    simulation_.add_host("server", server_);
  }
  NetworkPath& connect(const LinkConfig& config) {
    return simulation_.connect({"client", k_client}, {"server", k_server}, config);
  }

  const Address k_client = address(1);
  const Address k_server = address(2, 443);
  const AddressPair k_to_server{k_client, k_server};
  const AddressPair k_to_client{k_server, k_client};
  ScriptedHost client_;
  ScriptedHost server_;
  Simulation simulation_{k_seed};
  ::testing::ScopedTrace trace_{__FILE__, __LINE__, "seed " + std::to_string(k_seed)};
};

TEST_F(SimulationTest, CarriesDatagramsBothWays) {
  connect({.delay = 20ms});
  client_.answers = server_.answers = true;
  const Time start = simulation_.now();
  client_.send(k_to_server, {3, 7});
  EXPECT_EQ(simulation_.run_until([&] { return client_.received.size() == 2; }, 1s),
            Outcome::kReached);
  ASSERT_EQ(server_.received.size(), 2u);
  EXPECT_EQ(server_.received[0].path, k_to_client);
  EXPECT_EQ(client_.received[0].path, k_to_server);
  EXPECT_EQ(client_.received[1].when, start + 80ms);
  EXPECT_EQ(simulation_.run_until([] { return false; }, 1s), Outcome::kIdle);
}

TEST_F(SimulationTest, SplitsBatchesIntoDatagrams) {
  connect({});
  client_.send(k_to_server, std::vector<std::uint8_t>(2500, 1), 1000);
  simulation_.run_for(1s);
  ASSERT_EQ(server_.received.size(), 3u);
  EXPECT_EQ(server_.received[1].bytes.size(), 1000u);
  EXPECT_EQ(server_.received[2].bytes.size(), 500u);
  EXPECT_EQ(server_.received[2].ecn, Ecn::kEct0);
}

TEST_F(SimulationTest, WakesHostsOnTime) {
  client_.timeout = simulation_.now() + 3s;
  EXPECT_EQ(simulation_.run_until([&] { return client_.timeouts == 1; }, 2s), Outcome::kTimeLimit);
  const Time before = simulation_.now();
  EXPECT_EQ(simulation_.run_until([&] { return client_.timeouts == 1; }, 2s), Outcome::kReached);
  EXPECT_EQ(simulation_.now(), before + 1s);
}

TEST_F(SimulationTest, FollowsTimeoutsThatMove) {
  client_.timeout = simulation_.now() + 3s;
  simulation_.after(1s, [&] { client_.timeout += 5s; });
  simulation_.run_for(7s);
  EXPECT_EQ(client_.timeouts, 0);
  simulation_.run_for(1s);
  EXPECT_EQ(client_.timeouts, 1);
}

TEST_F(SimulationTest, ActionsAtOneInstantKeepTheirOrder) {
  std::vector<int> order;
  for (int i = 0; i < 5; ++i) simulation_.after(1s, [&order, i] { order.push_back(i); });
  simulation_.run_for(2s);
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4}));
}

TEST_F(SimulationTest, ABusyHostIsFound) {
  client_.timeout = simulation_.now();
  client_.stuck = true;
  EXPECT_EQ(simulation_.run_for(1s), Outcome::kLivelock);
}

TEST_F(SimulationTest, DatagramsToNowhereAreCounted) {
  connect({});
  client_.send({k_client, address(9)}, {1});
  simulation_.run_for(1s);
  EXPECT_EQ(simulation_.network().unroutable(), 1u);
}

TEST_F(SimulationTest, RebindingChangesWhatTheFarSideSees) {
  NetworkPath& path = connect({.delay = 10ms});
  client_.send(k_to_server, {1});
  simulation_.run_for(5ms);
  const Address translated = address(1, 2000);
  simulation_.rebind(path, translated);
  client_.send(k_to_server, {2});
  simulation_.run_for(100ms);
  ASSERT_EQ(server_.received.size(), 2u);
  EXPECT_EQ(server_.received[0].path.remote, k_client);  // was in flight
  EXPECT_EQ(server_.received[1].path.remote, translated);
  server_.send({k_server, translated}, {3});
  server_.send(k_to_client, {4});  // no mapping any more
  simulation_.run_for(100ms);
  ASSERT_EQ(client_.received.size(), 1u);
  EXPECT_EQ(client_.received[0].path, k_to_server);
  EXPECT_EQ(simulation_.network().unroutable(), 1u);
}

TEST_F(SimulationTest, RebindingDropsWhatIsInFlightToTheOldAddress) {
  NetworkPath& path = connect({.delay = 10ms});
  server_.send(k_to_client, {1});
  simulation_.run_for(5ms);
  simulation_.rebind(path, address(1, 2000));
  simulation_.run_for(100ms);
  EXPECT_TRUE(client_.received.empty());
  EXPECT_EQ(simulation_.network().unroutable(), 1u);
}

TEST_F(SimulationTest, SeveralPathsBetweenTwoHosts) {
  connect({.delay = 50ms});
  const Address second = address(3);
  simulation_.connect({"client", second}, {"server", k_server}, {.delay = 10ms});
  client_.send(k_to_server, {1});
  client_.send({second, k_server}, {2});
  simulation_.run_for(1s);
  ASSERT_EQ(server_.received.size(), 2u);
  EXPECT_EQ(server_.received[0].path.remote, second);
}

TEST_F(SimulationTest, PathsMayShareTheirLinks) {
  NetworkPath& path = connect({.rate = 8_mbps});  // 1,000 bytes in 1 ms
  const Address second = address(1, 2000);
  NetworkPath& sharing = simulation_.share(path, {"client", second}, {"server", k_server});
  EXPECT_EQ(&path.there, &sharing.there);
  const Time start = simulation_.now();
  for (int i = 0; i < 2; ++i) {
    client_.send(k_to_server, std::vector<std::uint8_t>(1000));
    client_.send({second, k_server}, std::vector<std::uint8_t>(1000));
  }
  const Address translated = address(7, 7);
  simulation_.after(1ms, [&] { simulation_.rebind(sharing, translated); });
  simulation_.run_for(10ms);
  ASSERT_EQ(server_.received.size(), 4u);
  EXPECT_EQ(server_.received[3].path.remote, second);  // as it left
  EXPECT_EQ(server_.received[3].when, start + 4ms);
  server_.send({k_server, translated}, {1});
  server_.send(k_to_client, {2});
  simulation_.run_for(10ms);
  ASSERT_EQ(client_.received.size(), 2u);
  EXPECT_EQ(client_.received[0].path.local, second);
  EXPECT_EQ(client_.received[1].path, k_to_server);
}

TEST_F(SimulationTest, PathsLeadThroughATrunkBesidesTheirOwnLinks) {
  NetworkPath& path = connect({.rate = 8_mbps, .delay = 1ms});  // 1,000 bytes in 1 ms
  const Address second = address(3);
  NetworkPath& other =
      simulation_.connect({"client", second}, {"server", k_server}, {.rate = 8_mbps, .delay = 1ms});
  const std::size_t trunk = simulation_.add_trunk({.rate = 4_mbps});  // 1,000 bytes in 2 ms
  simulation_.lead_through(path, trunk);
  simulation_.lead_through(other, trunk);
  const Time start = simulation_.now();
  client_.send(k_to_server, std::vector<std::uint8_t>(1000));
  client_.send({second, k_server}, std::vector<std::uint8_t>(1000));
  simulation_.run_for(100ms);
  ASSERT_EQ(server_.received.size(), 2u);
  EXPECT_EQ(server_.received[0].when, start + 4ms);  // 1 + 1 + 2
  EXPECT_EQ(server_.received[1].when, start + 6ms);  // both came to the trunk at one time
  EXPECT_EQ(server_.received[1].path.remote, second);
  EXPECT_EQ(path.there.stats().delivered, 1u);

  server_.send(k_to_client, std::vector<std::uint8_t>(1000));
  server_.send({k_server, second}, std::vector<std::uint8_t>(1000));
  const Time back = simulation_.now();
  simulation_.run_for(100ms);
  ASSERT_EQ(client_.received.size(), 2u);
  EXPECT_EQ(client_.received[0].when, back + 4ms);  // the trunk first
  EXPECT_EQ(client_.received[1].when, back + 6ms);
  EXPECT_EQ(client_.received[1].path.local, second);
}

TEST_F(SimulationTest, PathsThatShareLinksShareTheTrunk) {
  NetworkPath& path = connect({});
  simulation_.lead_through(path, simulation_.add_trunk({.rate = 8_mbps}));
  const Address second = address(1, 2000);
  NetworkPath& sharing = simulation_.share(path, {"client", second}, {"server", k_server});
  const Time start = simulation_.now();
  client_.send(k_to_server, std::vector<std::uint8_t>(1000));
  client_.send({second, k_server}, std::vector<std::uint8_t>(1000));
  simulation_.run_for(10ms);
  ASSERT_EQ(server_.received.size(), 2u);
  EXPECT_EQ(server_.received[1].when, start + 2ms);
  // The translator is at the near end, so datagrams on the shared link find their mapping gone.
  server_.send({k_server, second}, std::vector<std::uint8_t>(1000));
  simulation_.run_for(500us);
  simulation_.rebind(sharing, address(7, 7));
  simulation_.run_for(10ms);
  EXPECT_TRUE(client_.received.empty());
  EXPECT_EQ(simulation_.network().unroutable(), 1u);
}

TEST_F(SimulationTest, TreesCopyDatagramsWhereTheyBranch) {
  ScriptedHost third;
  simulation_.add_host("third", third);
  const Address group = address(200);
  NetworkPath& trunk =
      simulation_.add_tree({"server", k_server}, group, "", {.rate = 8_mbps, .delay = 1ms});
  NetworkPath& first = simulation_.add_branch(trunk, "client", {.delay = 1ms});
  simulation_.add_branch(first, "third", {.delay = 5ms});
  const Time start = simulation_.now();
  server_.send({k_server, group}, std::vector<std::uint8_t>(1000, 7));  // 1 ms at this rate
  simulation_.run_for(100ms);
  ASSERT_EQ(client_.received.size(), 1u);
  EXPECT_EQ(client_.received[0].when, start + 3ms);
  EXPECT_EQ(client_.received[0].path, (AddressPair{group, k_server}));
  ASSERT_EQ(third.received.size(), 1u);
  EXPECT_EQ(third.received[0].when, start + 8ms);
  EXPECT_EQ(third.received[0].bytes, client_.received[0].bytes);
  EXPECT_EQ(trunk.there.stats().delivered, 1u);

  // A cut in the middle takes all members behind it.
  first.there.change({.down = true}, simulation_.now());
  server_.send({k_server, group}, {1});
  simulation_.run_for(100ms);
  EXPECT_EQ(client_.received.size(), 1u);
  EXPECT_EQ(third.received.size(), 1u);
  EXPECT_EQ(trunk.there.stats().delivered, 2u);
}

TEST_F(SimulationTest, MembersOfATreeMayWriteToWhatTheyReceive) {
  const Address group = ipv4({232, 0, 1, 1}, 5000);
  ScriptedHost third;
  simulation_.add_host("third", third);
  NetworkPath& trunk = simulation_.add_tree({"server", k_server}, group, "client", {.delay = 1ms});
  simulation_.add_branch(trunk, "third", {.delay = 1ms});
  client_.overwrites = third.overwrites = true;
  for (std::uint8_t i = 1; i <= 3; ++i) {
    server_.send({k_server, group}, {i, 7});
    simulation_.run_for(1ms);
  }
  simulation_.run_for(10ms);
  ASSERT_EQ(third.received.size(), 3u);
  for (std::uint8_t i = 1; i <= 3; ++i) {
    EXPECT_EQ(client_.received[i - 1].bytes, (std::vector<std::uint8_t>{i, 7}));
    EXPECT_EQ(third.received[i - 1].bytes, (std::vector<std::uint8_t>{i, 7}));
  }
}

TEST_F(SimulationTest, TimeoutsThatArePutOffAgainAndAgainComeOnce) {
  for (int i = 1; i <= 5; ++i) {
    simulation_.after(i * 1ms, [this] { client_.timeout = simulation_.now() + 10ms; });
  }
  server_.timeout = simulation_.now() + 12ms;
  simulation_.run_for(14ms);
  EXPECT_EQ(client_.timeouts, 0);
  EXPECT_EQ(server_.timeouts, 1);
  simulation_.run_for(2ms);
  EXPECT_EQ(client_.timeouts, 1);
}

TEST(SimulationReplay, SameSeedSameRun) {
  const auto run = [](std::uint64_t seed) {
    Simulation simulation(seed);
    ScriptedHost client, server;
    client.answers = server.answers = true;
    simulation.add_host("client", client);
    simulation.add_host("server", server);
    simulation.connect({"client", address(1)}, {"server", address(2)},
                       {.rate = 1_mbps,
                        .loss = 0.05,
                        .duplication = 0.05,
                        .delay = 10ms,
                        .jitter = 8ms,
                        .reordering = 0.1,
                        .reordering_delay = 9ms});
    for (std::uint8_t i = 0; i < 50; ++i) {
      std::vector<std::uint8_t> message(100, i);
      message[0] = 20;
      client.send({address(1), address(2)}, message);
    }
    EXPECT_EQ(simulation.run_for(60s), Outcome::kIdle) << "seed " << seed;
    return std::pair(simulation.digest(), simulation.events());
  };
  EXPECT_EQ(run(1), run(1));
  EXPECT_NE(run(1).first, run(2).first);
}

}  // namespace
}  // namespace sheaf::quic
