#include "sim/direct_return/return_network.h"

#include <gtest/gtest.h>

#include <iostream>
#include <string>

#include "sim/addresses.h"
#include "sim/direct_return/fairness_run.h"
#include "sim/direct_return/receiver_run.h"
#include "sim/receivers/all_receivers.h"
#include "util/random.h"

namespace sheaf::quic {
namespace {

constexpr std::uint64_t k_megabyte = 1'000'000;

// A site whose backends are near the gateway, and a client 20 ms away with 100 Mbit/s. The ways of
// the backends to the client differ by `spread`.
ReturnNetwork::Options site(std::size_t backends, Duration spread = {}, double loss = 0) {
  ReturnNetwork::Options options;
  options.access = {.queue_bytes = 16 << 20, .rate = 12'500'000, .delay = 20ms};
  options.access.loss = loss;
  options.gateway_way = 100us;
  for (std::size_t i = 0; i < backends; ++i) {
    const Duration farther =
        backends == 1 ? spread : spread * std::int64_t(i) / std::int64_t(backends - 1);
    options.backends.push_back({.order = 100us, .way = 100us + farther});
  }
  return options;
}

void request_from_all(ReturnNetwork& network, std::uint64_t bytes) {
  for (std::size_t i = 0; i < network.backends.size(); ++i) network.request(i, bytes);
}

void run(ReturnNetwork& network, Duration limit = 60s) {
  const auto outcome = network.simulation.run_until([&] { return network.all_finished(); }, limit);
  EXPECT_EQ(outcome, Simulation::Outcome::kReached) << "seed " << network.simulation.seed();
  EXPECT_TRUE(network.all_intact());
}

Executor::Stats total(const ReturnNetwork& network) {
  Executor::Stats total;
  for (const BackendExecutorHost& backend : network.backends) {
    const Executor::Stats& stats = backend.executor.stats();
    total.runs += stats.runs;
    total.packets += stats.packets;
    for (std::size_t i = 0; i < stats.refused.size(); ++i) total.refused[i] += stats.refused[i];
  }
  return total;
}

std::uint64_t refused_runs(const ReturnNetwork& network) {
  std::uint64_t refused = 0;
  for (const std::uint64_t runs : total(network).refused) refused += runs;
  return refused;
}

PathStats gateway_path(ReturnNetwork& network) {
  return network.pair.server.connection.paths().stats().front();
}

TEST(ReturnNetwork, ABackendSendsAResponse) {
  ReturnNetwork network(1, site(1));
  const StreamId stream = network.request(0, k_megabyte);
  run(network);
  EXPECT_EQ(network.response(stream).received, k_megabyte);
  EXPECT_EQ(network.proxied, 0u);
  EXPECT_GE(total(network).packets, k_megabyte / 1452);
  EXPECT_LE(total(network).packets, k_megabyte / 1100);  // MTU discovery begins with 1200
  EXPECT_EQ(refused_runs(network), 0u);
  EXPECT_EQ(gateway_path(network).packets_lost, 0u);
  // The grant ends with the response.
  network.simulation.run_for(1s);
  EXPECT_EQ(network.backends[0].executor.grants(), 0u);
  EXPECT_EQ(network.gateway.delegated.streams(), 0u);
}

TEST(ReturnNetwork, ManyBackendsSendAtATimeWhateverIsLost) {
  std::uint64_t seed = 10;
  for (const std::size_t backends : {1, 2, 4, 8}) {
    for (const Duration spread : {Duration(0ms), Duration(2ms), Duration(10ms)}) {
      for (const double loss : {0.0, 0.001, 0.01}) {
        ReturnNetwork network(++seed, site(backends, spread, loss));
        SCOPED_TRACE(seed);
        request_from_all(network, k_megabyte / backends);
        run(network);
        EXPECT_EQ(network.proxied, 0u);
        const std::uint64_t lost = gateway_path(network).packets_lost;
        if (loss == 0) {
          EXPECT_LE(lost * 1000, total(network).packets) << "spurious";
          EXPECT_EQ(refused_runs(network), 0u);
        }
      }
    }
  }
}

TEST(ReturnNetwork, IsReplayedByItsSeed) {
  std::uint64_t digest = 0;
  for (int i = 0; i < 2; ++i) {
    ReturnNetwork network(5, site(3, 2ms, 0.01));
    request_from_all(network, k_megabyte / 2);
    run(network);
    if (i == 0) digest = network.simulation.digest();
    EXPECT_EQ(network.simulation.digest(), digest);
  }
}

// Keys and the client's address change meanwhile.
TEST(ReturnNetwork, FollowsTheConnection) {
  for (std::uint64_t seed = 51; seed < 56; ++seed) {
    ReturnNetwork network(seed, site(3, 2ms));
    request_from_all(network, 2 * k_megabyte);
    network.simulation.after(150ms, [&] {
      Connection& client = network.pair.client.connection;
      EXPECT_TRUE(
          client.extension().keys().initiate_update(PathId{0}, network.simulation.now(), 100ms));
      client.extension().paths().find(PathId{0})->path->ping_due = true;
    });
    network.simulation.after(300ms, [&] {
      network.simulation.rebind(network.access, ipv4({192, 0, 2, 9}, 61000));
      // A client that only receives would not show its new address.
      network.pair.client.connection.extension().paths().find(PathId{0})->path->ping_due = true;
    });
    run(network);
    EXPECT_EQ(network.pair.server.connection.stats().key_updates, 1u) << seed;
    EXPECT_EQ(gateway_path(network).addresses.remote.port, 61000) << seed;
    EXPECT_EQ(network.proxied, 0u);
  }
}

// A request that shows the client's new address waits for its validation, and comes from a backend.
TEST(ReturnNetwork, OffersAResponseWhileTheClientsAddressIsValidated) {
  for (std::uint64_t seed = 31; seed < 36; ++seed) {
    ReturnNetwork network(seed, site(2, 2ms));
    request_from_all(network, k_megabyte);
    bool pending = false;
    network.simulation.after(150ms, [&] {
      network.simulation.rebind(network.access, ipv4({192, 0, 2, 9}, 61000));
      network.request(0, k_megabyte);
    });
    network.simulation.after(175ms, [&] {
      auto& paths = network.pair.server.connection.paths();
      pending = paths.stats().front().state == PathState::kValidating;
      EXPECT_EQ(network.gateway.delegated.streams(), 3u);
    });
    run(network);
    EXPECT_TRUE(pending);
    EXPECT_EQ(network.proxied, 0u) << seed;
    EXPECT_EQ(gateway_path(network).addresses.remote.port, 61000) << seed;
  }
}

// Runs need path 0 alone, so the gateway sends the rest.
TEST(ReturnNetwork, AClientMayOpenASecondPathAndLeaveTheFirst) {
  constexpr AddressPair second{ipv4({192, 0, 2, 10}, 50000), ipv4({203, 0, 113, 7}, 443)};
  for (const bool leaves : {false, true}) {
    auto options = site(2, 2ms);
    ReturnNetwork network(56 + leaves, options);
    network.simulation.connect({"client", second.local}, {"gateway", second.remote},
                               options.access);
    request_from_all(network, 2 * k_megabyte);
    auto& paths = network.pair.client.connection.paths();
    network.simulation.after(200ms,
                             [&] { EXPECT_TRUE(paths.open(second, network.simulation.now())); });
    network.simulation.after(350ms, [&] {
      if (!leaves) return;
      EXPECT_TRUE(paths.abandon(PathId{0}, 0x3e, network.simulation.now()));
    });
    run(network);
    ASSERT_EQ(network.orphans.size(), 2u);
    EXPECT_EQ(network.orphans[0].reason, DelegatedStreams::Orphan::Reason::kPaths);
    EXPECT_EQ(network.proxied, 2u);
    // Three probe timeouts later the path is forgotten. Whoever asks now is sent nothing by
    // backends.
    network.simulation.run_for(2s);
    network.request(0, k_megabyte);
    run(network);
    EXPECT_EQ(network.proxied, 3u);
  }
}

// A backend without grants says nothing, which is no silence.
TEST(ReturnNetwork, WaitsForABackendThatTakesItsTimeToAnswer) {
  auto options = site(1);
  options.backends[0].thinks = 3s;
  ReturnNetwork network(57, options);
  network.request(0, k_megabyte);
  run(network);
  EXPECT_EQ(network.proxied, 0u);
  EXPECT_TRUE(network.orphans.empty());
}

// Each grant costs a backend memory and a file that is open.
TEST(ReturnNetwork, BoundsTheGrantsOfAConnection) {
  ReturnNetwork network(58, site(2));
  constexpr std::size_t k_more = 20;
  for (std::size_t i = 0; i < DelegatedStreams::k_max_streams + k_more; ++i) {
    network.request(i % 2, k_megabyte / 20);
  }
  std::size_t most = 0;
  for (int i = 0; i < 200; ++i) {
    network.simulation.run_for(1ms);
    std::size_t grants = 0;
    for (const BackendExecutorHost& backend : network.backends) {
      grants += backend.executor.grants();
    }
    most = std::max(most, grants);
  }
  EXPECT_EQ(most, DelegatedStreams::k_max_streams);
  run(network);
  EXPECT_EQ(network.proxied, k_more);
}

// What had to wait for packets of backends does not wait for ever.
TEST(ReturnNetwork, IsAPlainConnectionAgainAfterTheLastGrant) {
  ReturnNetwork network(59, site(2, 10ms));
  request_from_all(network, k_megabyte);
  run(network);
  network.simulation.run_for(1s);
  EXPECT_TRUE(network.gateway.delegated.idle());
  EXPECT_EQ(network.gateway.delegated.next_timeout(), k_never);
  const Time asked = network.simulation.now();
  const StreamId own = network.request(2, 5'000);
  run(network);
  EXPECT_EQ(network.proxied, 1u);
  EXPECT_LE(network.response(own).finished_at - asked, 45ms) << "the round trip takes 40.2 ms";
}

// Its loop does something else for some milliseconds at times.
TEST(ReturnNetwork, LetsABusyBackendSendALittleLater) {
  ReturnNetwork network(60, site(1));
  network.request(0, 2 * k_megabyte);
  for (Duration at = 50ms; at < 300ms; at += 20ms) {
    network.simulation.after(
        at, [&] { network.backends[0].busy_until = network.simulation.now() + 8ms; });
  }
  run(network);
  EXPECT_EQ(refused_runs(network), 0u);
  EXPECT_EQ(gateway_path(network).packets_lost, 0u);
}

TEST(ReturnNetwork, GoesOnWhenMessagesAreLost) {
  for (std::uint64_t seed = 61; seed < 66; ++seed) {
    auto options = site(3, 2ms);
    for (ReturnNetwork::Backend& backend : options.backends) backend.order_loss = 0.01;
    ReturnNetwork network(seed, options);
    request_from_all(network, k_megabyte);
    run(network);
  }
}

TEST(ReturnNetwork, GoesOnAtAnotherBackendWhenOneDies) {
  for (std::uint64_t seed = 71; seed < 76; ++seed) {
    ReturnNetwork network(seed, site(3, 2ms));
    request_from_all(network, 2 * k_megabyte);
    network.simulation.after(200ms, [&] { network.kill(1); });
    run(network);
    ASSERT_EQ(network.orphans.size(), 1u) << seed;
    EXPECT_EQ(network.orphans[0].reason, DelegatedStreams::Orphan::Reason::kSilent);
    EXPECT_EQ(network.proxied, 0u) << seed;
  }
}

// Nothing that it has in flight is waited for.
TEST(ReturnNetwork, GoesOnAtOnceWhenABackendHasForgottenItsGrants) {
  for (std::uint64_t seed = 26; seed < 31; ++seed) {
    ReturnNetwork network(seed, site(2));
    const StreamId stream = network.request(0, 2 * k_megabyte);
    network.simulation.after(200ms, [&] { network.kill_and_close(0); });
    run(network);
    ASSERT_EQ(network.orphans.size(), 1u) << seed;
    EXPECT_EQ(network.orphans[0].reason, DelegatedStreams::Orphan::Reason::kGone);
    EXPECT_LE(network.response(stream).longest_stall, 45ms) << "the round trip takes 40.2 ms";
  }
}

// A filter of source addresses drops what it sends.
TEST(ReturnNetwork, GoesOnAtAnotherBackendWhenOneDoesNotReachTheClient) {
  for (std::uint64_t seed = 76; seed < 81; ++seed) {
    auto options = site(3, 2ms);
    options.backends[1].reaches = false;
    ReturnNetwork network(seed, options);
    request_from_all(network, 2 * k_megabyte);
    run(network);
    ASSERT_EQ(network.orphans.size(), 1u) << seed;
    EXPECT_EQ(network.orphans[0].reason, DelegatedStreams::Orphan::Reason::kUnreachable);
    EXPECT_EQ(network.orphans[0].acknowledged, 0u);
  }
}

// A backend dies, keys change, packets and messages are lost, all at random times.
TEST(ReturnNetwork, BearsAllKindsOfFaultsTogether) {
  for (std::uint64_t seed = 1'000; seed < 1'012; ++seed) {
    SeededRandom random(seed);
    const std::size_t backends = 2 + random.below(7);
    auto options = site(backends, Duration(1ms) * std::int64_t(random.below(11)),
                        random.below(2) == 0 ? 0 : 0.01);
    for (ReturnNetwork::Backend& backend : options.backends) {
      backend.order_loss = random.below(2) == 0 ? 0 : 0.02;
    }
    ReturnNetwork network(seed, options);
    SCOPED_TRACE("seed " + std::to_string(seed));
    request_from_all(network, 3 * k_megabyte / backends);
    const auto some_time = [&] { return Duration(1ms) * std::int64_t(50 + random.below(300)); };
    network.simulation.after(some_time(), [&] { network.kill(backends / 2); });
    network.simulation.after(some_time(), [&] {
      Connection& client = network.pair.client.connection;
      static_cast<void>(
          client.extension().keys().initiate_update(PathId{0}, network.simulation.now(), 100ms));
      client.extension().paths().find(PathId{0})->path->ping_due = true;
    });
    run(network);
  }
}

TEST(ReturnNetwork, EndsWithARequestThatTheClientGivesUp) {
  ReturnNetwork network(81, site(2));
  const StreamId given_up = network.request(0, 50 * k_megabyte);
  const StreamId other = network.request(1, 2 * k_megabyte);
  network.simulation.after(200ms, [&] {
    EXPECT_TRUE(network.pair.client.connection.streams().reader().stop_sending(given_up, 7));
  });
  network.simulation.run_until([&] { return network.response(other).finished; }, 30s);
  EXPECT_TRUE(network.all_intact());
  EXPECT_EQ(network.response(other).received, 2 * k_megabyte);
  network.simulation.run_for(2s);
  EXPECT_EQ(network.backends[0].executor.grants(), 0u);
  EXPECT_LT(network.response(given_up).received, 10 * k_megabyte);
}

// The near backend's runs wait for the far one's. What has its numbers leaves all the same.
TEST(ReturnNetwork, LosesNothingWhenTheClientGivesUp) {
  ReturnNetwork network(82, site(2, 8ms));
  const StreamId other = network.request(1, 2 * k_megabyte);
  for (int i = 0; i < 10; ++i) {
    const StreamId given_up = network.request(0, 50 * k_megabyte);
    network.simulation.run_for(100ms);
    EXPECT_TRUE(network.pair.client.connection.streams().reader().stop_sending(given_up, 7));
    network.simulation.run_for(100ms);
  }
  network.simulation.run_until([&] { return network.response(other).finished; }, 30s);
  EXPECT_EQ(gateway_path(network).packets_lost, 0u);
  EXPECT_EQ(network.proxied, 0u);
}

// To the network it is one connection, however many backends serve it. Eight connections would take
// 0.89. The queue has no phases, so that shares of 12 s differ less from seed to seed than those of
// a full one: most lie between 0.4 and 0.56.
TEST(ReturnNetwork, TakesAboutTheShareOfOneConnection) {
  constexpr std::uint64_t k_seeds = 4;
  for (const std::size_t backends : {1, 8}) {
    FairnessSetting setting{.network = site(backends, 2ms), .warm_up = 3s, .counted = 12s};
    setting.network.access = {.queue_bytes = 100'000, .rate = 2'500'000, .delay = 20ms};
    setting.network.access.queue_discipline = QueueDisciplineKind::kCoDel;
    double sum = 0;
    for (setting.seed = 91; setting.seed < 91 + k_seeds; ++setting.seed) {
      const double share = run_fairness(setting).share();
      std::cout << backends << " backends, seed " << setting.seed << ": share " << share << '\n';
      sum += share;
    }
    EXPECT_GE(sum / k_seeds, 0.35) << backends;
    EXPECT_LE(sum / k_seeds, 0.6) << backends;
  }
}

// A gateway that is nearer than its backends would get more of the link for itself.
TEST(ReturnNetwork, TakesTheShareThatTheGatewayWouldTakeAlone) {
  constexpr std::uint64_t k_seeds = 4;
  for (const std::size_t backends : {1, 4}) {
    FairnessSetting setting{.network = site(backends, 2ms), .warm_up = 3s, .counted = 12s};
    setting.network.access = {.queue_bytes = 100'000, .rate = 2'500'000, .delay = 10ms};
    setting.network.access.queue_discipline = QueueDisciplineKind::kCoDel;
    for (ReturnNetwork::Backend& backend : setting.network.backends) {
      backend.order += 5ms;
      backend.way += 5ms;
    }
    setting.plain_at_gateway = true;
    double sum = 0;
    for (setting.seed = 71; setting.seed < 71 + k_seeds; ++setting.seed) {
      const double share = run_fairness(setting).share();
      std::cout << backends << " backends, seed " << setting.seed << ": share " << share << '\n';
      sum += share;
    }
    EXPECT_GE(sum / k_seeds, 0.42) << backends;
    EXPECT_LE(sum / k_seeds, 0.6) << backends;
  }
}

// Figure 13 of the paper, with 1 % of losses: a proxy's round trip has 20 ms, and that of returned
// packets 30.
TEST(ReturnNetwork, IsNotSlowerThanAProxyUnderLoss) {
  ReturnNetwork::Options options;
  options.access = {.queue_bytes = 1 << 22, .rate = 1'500'000, .loss = 0.01};
  options.gateway_way = 10ms;
  options.backends = {{.order = 5ms, .way = 15ms}};
  std::uint64_t received[2];
  for (const bool proxied : {false, true}) {
    options.proxied = proxied;
    ReturnNetwork network(61, options);
    network.request(0, 100 * k_megabyte);
    network.simulation.run_for(30s);
    for (const auto& [stream, response] : network.responses()) {
      received[proxied] = response.received;
    }
  }
  std::cout << "seed 61: " << received[0] << " bytes returned, " << received[1] << " proxied\n";
  EXPECT_GE(received[0] * 100, received[1] * 97);
}

// What a client saw that treats numbers as a model says
struct Seen {
  double acks = 0;      // per packet
  double refused = 0;   // share of packets
  double repeated = 0;  // share of bytes that had arrived before
  std::size_t ranges = 0;
};

Seen download(ReceiverModel& model, const ReturnNetwork::Options& options, std::uint64_t seed,
              std::uint64_t bytes) {
  const ReceiverRunResult result =
      run_receiver({.network = options, .bytes = bytes, .seed = seed}, model);
  EXPECT_TRUE(result.finished) << model.name() << ", seed " << seed;
  EXPECT_TRUE(result.intact) << model.name() << ", seed " << seed;
  EXPECT_FALSE(model.closed());
  const auto packets = static_cast<double>(result.packets);
  const Seen seen{.acks = static_cast<double>(result.acknowledgements) / packets,
                  .refused = static_cast<double>(result.refused) / packets,
                  .repeated = static_cast<double>(result.repeated) / static_cast<double>(bytes),
                  .ranges = result.most_ranges};
  const Duration spread = options.backends.back().way - options.backends.front().way;
  std::cout << model.name() << ", " << options.backends.size() << " backends, "
            << to_seconds(spread) * 1e3 << " ms apart, "
            << (options.backends_wait ? "" : "without waits, ") << "seed " << seed << ": "
            << seen.acks << " ACKs per packet, " << seen.ranges << " ranges, refused "
            << 100 * seen.refused << " %, repeated " << 100 * seen.repeated << " %\n";
  return seen;
}

TEST(ReturnNetwork, SuitsClientsOfAllKinds) {
  std::uint64_t seed = 100;
  for (const std::size_t backends : {2, 4}) {
    const auto options = site(backends, 10ms);
    for (const auto& model : all_receivers(2 * options.access.delay)) {
      const Seen seen = download(*model, options, ++seed, 4 * k_megabyte);
      SCOPED_TRACE(model->name());
      EXPECT_LT(seen.refused, 0.001);
      EXPECT_LT(seen.repeated, 0.001);
      EXPECT_LE(seen.ranges, 24u);
    }
  }
}

TEST(ReturnNetwork, MakesChromiumAcknowledgeSeldom) {
  std::uint64_t seed = 200;
  for (const std::size_t backends : {1, 2, 4, 8}) {
    for (const Duration spread : {Duration(0ms), Duration(2ms), Duration(10ms)}) {
      const auto options = site(backends, spread);
      ChromiumReceiver calm(2 * options.access.delay);
      EXPECT_LE(download(calm, options, ++seed, 3 * k_megabyte).acks, 0.2);
    }
  }
  // At low rates a burst of the pacer is many runs.
  for (const std::size_t backends : {2, 4}) {
    for (const Duration spread : {Duration(0ms), Duration(10ms)}) {
      auto slow = site(backends, spread);
      slow.access.rate = 1'250'000;
      slow.access.queue_bytes = 1 << 26;
      ChromiumReceiver calm(2 * slow.access.delay);
      EXPECT_LE(download(calm, slow, ++seed, 6 * k_megabyte).acks, 0.25);
    }
  }
  auto options = site(4, 10ms);
  options.backends_wait = false;
  ChromiumReceiver busy(2 * options.access.delay);
  EXPECT_GT(download(busy, options, ++seed, 3 * k_megabyte).acks, 0.4);
}

}  // namespace
}  // namespace sheaf::quic
