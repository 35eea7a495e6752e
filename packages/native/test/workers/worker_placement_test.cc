#include "workers/worker_placement.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "workers/worker_world.h"

namespace sheaf::workers {
namespace {

using Cause = quic::ConnectionClosed::Cause;
using Client = WorkerWorld::Client;

constexpr std::size_t k_bytes = 30'000;

bool all_echoed(const WorkerWorld& world, std::size_t streams) {
  return std::ranges::all_of(world.clients, [&](const auto& client) {
    return client->closed || client->echoes.finished.size() == streams;
  });
}

void expect_alive(const WorkerWorld& world) {
  for (const auto& client : world.clients) {
    EXPECT_FALSE(client->closed) << client->closed->reason;
    EXPECT_TRUE(client->echoes.intact);
  }
}

std::uint64_t passed_on(WorkerWorld& world) {
  std::uint64_t sum = 0;
  for (unsigned worker = 0; worker < world.workers().size(); ++worker)
    sum += world.group().counts(worker).passed_on;
  return sum;
}

struct Case {
  const char* name;
  WorkerWorld::Options options;
};

class Workers : public testing::TestWithParam<Case> {};

// Everything that moves a connection to another socket: new addresses, batches that go astray,
// Retry.
TEST_P(Workers, KeepEachConnectionWhileAddressesChange) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    WorkerWorld::Options options = GetParam().options;
    options.seed = seed;
    WorkerWorld world(options);
    for (int i = 0; i < 24; ++i) world.connect();
    ASSERT_TRUE(world.run_until_established());
    for (std::size_t round = 1; round <= 4; ++round) {
      for (const auto& client : world.clients) {
        world.rebind(*client);
        world.send(*client, k_bytes);
      }
      ASSERT_TRUE(world.run_until([&] { return all_echoed(world, round); }));
    }
    expect_alive(world);
    // Each connection is at one worker, and its worker's ids lead there.
    std::set<unsigned> used;
    std::size_t connections = 0;
    for (const auto& client : world.clients) used.insert(world.worker_of(*client).value());
    for (const auto& worker : world.workers()) connections += worker->connection_count();
    EXPECT_EQ(connections, world.clients.size());
    EXPECT_GT(used.size(), 1u);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Placement, Workers,
    testing::Values(
        Case{"Steered", {}}, Case{"ByAddress", {.steered = false}},
        Case{"SteeredWithRetry", {.retry = quic::RetryPolicy::kAlways}},
        Case{"ByAddressWithRetry", {.steered = false, .retry = quic::RetryPolicy::kAlways}},
        Case{"Astray", {.astray = 0.3}}, Case{"AstrayAndLost", {.loss = 0.05, .astray = 0.3}},
        Case{"ByAddressAndLost", {.steered = false, .loss = 0.05}}, Case{"Many", {.workers = 64}},
        Case{"ManyByAddress", {.workers = 64, .steered = false}}),
    [](const auto& parameter) { return parameter.param.name; });

TEST(Workers, NothingIsPassedOnWhereTheKernelSteers) {
  WorkerWorld world({.seed = 7, .workers = 16});
  for (int i = 0; i < 64; ++i) world.connect();
  ASSERT_TRUE(world.run_until_established());
  for (const auto& client : world.clients) {
    world.rebind(*client);
    world.send(*client, k_bytes);
  }
  ASSERT_TRUE(world.run_until([&] { return all_echoed(world, 1); }));
  expect_alive(world);
  EXPECT_EQ(passed_on(world), 0u);
  EXPECT_EQ(world.group().routes().size(), 0u);
}

TEST(Workers, ResumeWithEarlyDataAtAnyWorker) {
  for (const bool steered : {true, false}) {
    WorkerWorld world({.seed = 8, .steered = steered});
    Client& first = world.connect();
    ASSERT_TRUE(world.run_until([&] { return !first.session.empty(); }));
    std::set<unsigned> used;
    for (int i = 0; i < 12; ++i) {
      Client& client = world.connect(first.session);
      world.send(client, 2000);
      ASSERT_TRUE(world.run_until([&] { return client.echoes.finished.size() == 1; }));
      EXPECT_TRUE(client.driver->resumed());
      used.insert(world.worker_of(client).value());
    }
    EXPECT_GT(used.size(), 1u);
  }
}

// RFC 9000 §10.3: a worker without the connection must not reset it, while its owner's successor
// must.
TEST(Workers, ACrashCostsTheConnectionsOfItsWorkerAlone) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    WorkerWorld world({.seed = seed, .workers = 4, .steered = seed % 2 == 0, .astray = 0.05});
    for (int i = 0; i < 16; ++i) world.connect();
    ASSERT_TRUE(world.run_until_established());
    for (std::size_t round = 1; round <= 3; ++round) {
      const auto victim = static_cast<unsigned>(world.random.below(4));
      std::vector<Client*> lost;
      for (const auto& client : world.clients) {
        if (client->closed) continue;
        if (world.worker_of(*client) == victim) lost.push_back(client.get());
        world.rebind(*client);
        world.send(*client, k_bytes);
      }
      world.run_for(std::chrono::milliseconds(world.random.below(30)));
      world.crash(victim);
      ASSERT_TRUE(world.run_until([&] { return all_echoed(world, round); }));
      for (const auto& client : world.clients) {
        const bool was_lost = std::ranges::find(lost, client.get()) != lost.end();
        if (!was_lost) continue;
        // Nothing was lost where all came back before the crash.
        if (!client->closed) world.send(*client, 1);
      }
      world.run_for(std::chrono::seconds(2));
      for (Client* client : lost) {
        ASSERT_TRUE(client->closed);
        EXPECT_EQ(client->closed->cause, Cause::kStatelessReset);
      }
      const auto closed = std::ranges::count_if(
          world.clients, [](const auto& client) { return client->closed.has_value(); });
      std::size_t connections = 0;
      for (const auto& worker : world.workers()) connections += worker->connection_count();
      EXPECT_EQ(connections + static_cast<std::size_t>(closed), world.clients.size());
    }
    // The successors take new connections.
    const std::size_t before = world.clients.size();
    for (int i = 0; i < 8; ++i) world.connect();
    world.run_for(std::chrono::seconds(1));
    for (std::size_t i = before; i < world.clients.size(); ++i)
      EXPECT_TRUE(world.clients[i]->established);
  }
}

std::size_t established(const WorkerWorld& world) {
  return static_cast<std::size_t>(
      std::ranges::count_if(world.clients, [](const auto& client) { return client->established; }));
}

// Keeps a connection from being idle, so that it is not closed to make room.
void keep_busy(WorkerWorld& world, Client& client) {
  auto& writer = client.driver->connection().streams().writer();
  const auto stream = writer.open(quic::Directionality::kBidirectional);
  ASSERT_TRUE(stream);
  ASSERT_TRUE(writer.write(*stream, quic::SendChunk::copy_of(std::vector<std::uint8_t>(1)), false));
  client.endpoint->wake(*client.driver, world.now);
}

TEST(Workers, DifferentRequestsForRoomAreOneForAnyNetwork) {
  WorkerGroup group(quic::Steering(2, 11, {}));
  group.join(1, [] {});
  quic::NetworkKey one{};
  quic::NetworkKey other{};
  other[0] = 1;
  group.ask_for_room(0, one);
  group.ask_for_room(0, one);
  const auto same = group.take_room_request(1);
  ASSERT_TRUE(same.has_value());
  EXPECT_EQ(*same, one);
  group.ask_for_room(0, one);
  group.ask_for_room(0, other);
  const auto any = group.take_room_request(1);
  ASSERT_TRUE(any.has_value());
  EXPECT_FALSE(any->has_value());
  EXPECT_FALSE(group.take_room_request(1).has_value());
}

// However connections are spread, workers have the whole limit together, and no more.
TEST(Workers, ALimitIsThatOfAllWorkers) {
  constexpr std::size_t k_most = 12;
  for (const bool of_network : {false, true}) {
    WorkerWorld::Options options{.seed = 10};
    (of_network ? options.max_connections_per_network : options.max_connections) = k_most;
    WorkerWorld world(options);
    for (std::size_t i = 0; i < k_most; ++i) world.connect();
    ASSERT_TRUE(world.run_until_established());
    std::map<unsigned, int> spread;
    for (const auto& client : world.clients) {
      ++spread[world.worker_of(*client).value()];
      keep_busy(world, *client);
    }
    // The same share for each would have refused some.
    EXPECT_TRUE(std::ranges::any_of(spread, [](const auto& each) { return each.second > 3; }));
    for (int i = 0; i < 4; ++i) world.connect();
    world.run_for(std::chrono::seconds(3));
    EXPECT_EQ(established(world), k_most);
    // What a worker had that crashed is free again.
    const auto [fullest, count] =
        *std::ranges::max_element(spread, {}, [](const auto& each) { return each.second; });
    world.crash(fullest);
    for (std::size_t i = 0; i < k_most; ++i) world.connect();
    world.run_for(std::chrono::seconds(3));
    EXPECT_EQ(established(world), k_most + static_cast<std::size_t>(count));
  }
}

// A worker that has no idle connections asks those that do.
TEST(Workers, IdleConnectionsOfAnyWorkerMakeRoom) {
  for (const bool of_network : {false, true}) {
    WorkerWorld::Options options{.seed = 11, .workers = 2, .steered = false};
    (of_network ? options.max_connections_per_network : options.max_connections) = 4;
    WorkerWorld world(options);
    std::vector<Client*> kept;
    for (int i = 0; i < 4; ++i) kept.push_back(&world.connect());
    ASSERT_TRUE(world.run_until_established());
    world.run_for(std::chrono::seconds(2));
    for (int round = 0; round < 10; ++round) {
      world.connect();
      world.run_for(std::chrono::seconds(2));
    }
    // At most one refusal for each connection that another worker closed
    EXPECT_GE(established(world), 4u + 5u);
    std::size_t open = 0;
    for (const auto& worker : world.workers()) open += worker->connection_count();
    EXPECT_LE(open, 4u);
  }
}

TEST(Workers, SixtyFourOfThemGetEvenSharesOfConnections) {
  WorkerWorld world({.seed = 9, .workers = 64});
  constexpr std::size_t k_each = 12;
  for (std::size_t i = 0; i < 64 * k_each; ++i) world.connect();
  ASSERT_TRUE(world.run_until_established());
  std::size_t least = SIZE_MAX;
  std::size_t most = 0;
  for (const auto& worker : world.workers()) {
    least = std::min(least, worker->connection_count());
    most = std::max(most, worker->connection_count());
  }
  EXPECT_GE(least, 1u);
  // A share of 12 has a standard deviation of 3.4.
  EXPECT_LE(most, 3 * k_each);
  RecordProperty("least", std::to_string(least));
  RecordProperty("most", std::to_string(most));
}

}  // namespace
}  // namespace sheaf::workers
