#include "sim/scenario.h"

#include <gtest/gtest.h>

#include "emulation/units.h"
#include "sim/addresses.h"
#include "sim/scripted_host.h"

namespace sheaf::quic {
namespace {

using Direction = ScenarioChange::Direction;

const Address k_wifi = ipv4({10, 0, 0, 1}, 50'000);
const Address k_cellular = ipv6(1, 50'001);
const Address k_scenario_server = ipv4({192, 0, 2, 1}, 443);
const Address k_server6 = ipv6(2, 443);

// A client with two interfaces.
Scenario two_paths(std::vector<ScenarioChange> changes = {}) {
  return {.name = "two paths",
          .hosts = {{"client", {k_wifi, k_cellular}}, {"server", {k_scenario_server, k_server6}}},
          .links = {{.name = "wifi",
                     .near = {"client", 0},
                     .far = {"server", 0},
                     .there = {.delay = 10ms},
                     .back = {.delay = 12ms}},
                    {.name = "cellular",
                     .near = {"client", 1},
                     .far = {"server", 1},
                     .there = {.delay = 40ms},
                     .back = {.delay = 40ms}}},
          .changes = std::move(changes)};
}

// Sends one datagram in each direction over each link at intervals of 50 ms.
class ScenarioTest : public ::testing::Test {
 protected:
  static constexpr std::uint64_t k_seed = 17;
  static constexpr int k_rounds = 20;

  void run(const Scenario& scenario, std::size_t size = 100) {
    ASSERT_EQ(find_fault(scenario), std::nullopt);
    simulation_.add_host("client", client_);
    simulation_.add_host("server", server_);
    start_ = simulation_.now();
    network_.emplace(scenario, simulation_);
    for (std::uint8_t round = 0; round < k_rounds; ++round) {
      for (const ScenarioLink& link : scenario.links) {
        const NetworkPath& path = network_->path(link.name);
        client_.send(network_->addresses(link.name), message(round, size));
        server_.send({path.far.address, path.near.address}, message(round, size));
      }
      simulation_.run_for(50ms);
    }
    simulation_.run_for(10s);
  }
  static std::vector<std::uint8_t> message(std::uint8_t round, std::size_t size) {
    return std::vector<std::uint8_t>(size, round);
  }
  // Maps the rounds whose datagram arrived at a local address to their delays in milliseconds.
  std::map<int, std::int64_t> arrived(const ScriptedHost& host, const Address& local) const {
    std::map<int, std::int64_t> delays;
    for (const auto& one : host.received) {
      if (one.path.local != local) continue;
      const int round = one.bytes[0];
      const Duration delay = one.when - start_ - round * 50ms;
      delays[round] = std::chrono::round<std::chrono::milliseconds>(delay).count();
    }
    return delays;
  }

  ScriptedHost client_, server_;
  Simulation simulation_{k_seed};
  std::optional<ScenarioNetwork> network_;
  Time start_{};
  ::testing::ScopedTrace trace_{__FILE__, __LINE__, "seed " + std::to_string(k_seed)};
};

TEST_F(ScenarioTest, HostsHaveSeveralAddresses) {
  run(two_paths());
  for (const Address& local : {k_scenario_server, k_server6}) {
    EXPECT_EQ(arrived(server_, local).size(), k_rounds + 0u);
  }
  EXPECT_EQ(arrived(server_, k_scenario_server)[3], 10);
  EXPECT_EQ(arrived(client_, k_wifi)[3], 12);
  EXPECT_EQ(arrived(client_, k_cellular)[3], 40);
}

TEST_F(ScenarioTest, ALinkBreaksAndComesBack) {
  run(two_paths({{.at = 210ms, .link = "wifi", .what = LinkDown{}},
                 {.at = 410ms, .link = "wifi", .what = LinkUp{}}}));
  const auto rounds = arrived(server_, k_scenario_server);
  for (int round = 0; round < k_rounds; ++round) {
    EXPECT_EQ(rounds.contains(round), round < 5 || round > 8) << round;
  }
  EXPECT_EQ(arrived(server_, k_server6).size(), k_rounds + 0u);
  EXPECT_EQ(network_->path("wifi").there.stats().down, 4u);
}

TEST_F(ScenarioTest, OneDirectionAlone) {
  run(two_paths({{.at = 0ms, .link = "wifi", .what = LinkDown{}, .direction = Direction::kBack}}));
  EXPECT_EQ(arrived(server_, k_scenario_server).size(), k_rounds + 0u);
  EXPECT_TRUE(arrived(client_, k_wifi).empty());
}

TEST_F(ScenarioTest, RateDelayAndLossChange) {
  run(two_paths({{.at = 210ms, .link = "wifi", .what = RateChange{10'000}},  // 100 bytes in 10 ms
                 {.at = 410ms, .link = "wifi", .what = DelayChange{30ms}},
                 {.at = 610ms, .link = "wifi", .what = LossChange{1}},
                 {.at = 810ms, .link = "wifi", .what = LossChange{0}}}));
  auto rounds = arrived(server_, k_scenario_server);
  EXPECT_EQ(rounds[4], 10);
  EXPECT_EQ(rounds[5], 20);
  EXPECT_EQ(rounds[10], 40);
  EXPECT_FALSE(rounds.contains(14));
  EXPECT_EQ(rounds[18], 40);
}

TEST_F(ScenarioTest, BurstsOfLossBegin) {
  run(two_paths(
      {{.at = 0ms, .link = "wifi", .what = BurstLossChange{{.enter_bad = 1, .leave_bad = 0}}}}));
  // The first datagram meets the good state.
  EXPECT_EQ(arrived(server_, k_scenario_server).size(), 1u);
}

TEST_F(ScenarioTest, TheTranslatorRebinds) {
  const Address translated = ipv4({203, 0, 113, 5}, 1024);
  run(two_paths({{.at = 210ms, .link = "wifi", .what = Rebinding{translated}}}));
  std::map<Address, int> sources;
  for (const auto& one : server_.received) ++sources[one.path.remote];
  EXPECT_EQ(sources[k_wifi], 5);
  EXPECT_EQ(sources[translated], k_rounds - 5);
  // One datagram was in flight, and the server continues with the old address.
  EXPECT_EQ(arrived(client_, k_wifi).size(), 4u);
}

TEST_F(ScenarioTest, SeveralPairsShareABottleneck) {
  Scenario scenario = two_paths();
  scenario.links[0].there.rate = 100'000;  // 1,000 bytes in 10 ms
  scenario.links.push_back(
      {.name = "second port", .near = {"client", 2}, .far = {"server", 0}, .shares = "wifi"});
  scenario.hosts[0].addresses.push_back(ipv4({10, 0, 0, 1}, 50'002));
  run(scenario, 1000);
  EXPECT_EQ(&network_->path("second port").there, &network_->path("wifi").there);
  std::vector<Time> times;
  for (const auto& one : server_.received) {
    if (one.path.local == k_scenario_server && one.bytes[0] == 0) times.push_back(one.when);
  }
  EXPECT_EQ(times, (std::vector<Time>{start_ + 20ms, start_ + 30ms}));
}

TEST(Scenario, FaultsAreNamed) {
  const auto fault = [](auto change) {
    Scenario scenario = two_paths();
    change(scenario);
    return find_fault(scenario).value_or("none");
  };
  EXPECT_EQ(fault([](Scenario&) {}), "none");
  EXPECT_EQ(fault([](Scenario& s) { s.hosts[1].name = "client"; }), "there are two hosts client");
  EXPECT_EQ(fault([](Scenario& s) { s.hosts[1].addresses[0] = k_wifi; }),
            "10.0.0.1:50000 occurs twice");
  EXPECT_EQ(fault([](Scenario& s) { s.links[1].far.host = "gateway"; }),
            "link cellular: there is no host gateway");
  EXPECT_EQ(fault([](Scenario& s) { s.links[1].near.address = 2; }),
            "link cellular: host client has no address 2");
  EXPECT_EQ(fault([](Scenario& s) { s.links[1] = s.links[0]; }),
            "link wifi: its addresses are joined already");
  EXPECT_EQ(fault([](Scenario& s) { s.links[1].name = "wifi"; }), "there are two links wifi");
  EXPECT_EQ(fault([](Scenario& s) { s.links[0].shares = "cellular"; }),
            "link wifi: there is no earlier link cellular");
  EXPECT_EQ(
      fault([](Scenario& s) { s.changes = {{.at = 1s, .link = "ethernet", .what = LinkDown{}}}; }),
      "a change names no link: ethernet");
  EXPECT_EQ(
      fault([](Scenario& s) { s.changes = {{.at = -1s, .link = "wifi", .what = LinkDown{}}}; }),
      "a change of link wifi is in the past");
}

}  // namespace
}  // namespace sheaf::quic
