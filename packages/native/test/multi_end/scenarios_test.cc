// Tests one client, one primary and several backends. Each case runs under 20 seeds, which
// determine the links.
#include <gtest/gtest.h>

#include <set>

#include "multi_end/scenario.h"

namespace sheaf::quic {
namespace {

constexpr int k_seeds = 20;

void offer_and_validate(BackendsWorld& world) {
  const auto path = world.open(0);
  ASSERT_TRUE(path);
  EXPECT_EQ(path->value % 2, 1u);
  // The primary neither sees nor carries this data.
  for (const PathStats& stats : world.primary().paths().stats()) EXPECT_NE(stats.id, *path);
  EXPECT_EQ(world.primary().stats().streams_open, 0u);
}

void client_paths_and_offers_share_no_ids(BackendsWorld& world) {
  ASSERT_TRUE(world.offer(0));
  AddressPair other = BackendsWorld::addresses(0);
  other.local.port = 50'001;
  const auto own = world.client().paths().open(other, world.now());
  ASSERT_TRUE(own);
  EXPECT_EQ(own->value % 2, 0u);
  const auto path = world.open(1);
  ASSERT_TRUE(path);
  EXPECT_NE(*path, *own);
}

void download_from_three_at_once(BackendsWorld& world) {
  std::vector<PathId> paths;
  for (std::size_t i = 0; i < 3; ++i) {
    const auto path = world.open(i);
    ASSERT_TRUE(path);
    paths.push_back(*path);
  }
  for (const PathId path : paths) {
    ASSERT_TRUE(world.client_exchange->ask(path, 100'000, world.now()));
  }
  ASSERT_TRUE(world.client_exchange->ask(std::nullopt, 100'000, world.now()));
  ASSERT_TRUE(world.run_until([&] { return world.client_exchange->all_finished(); }));
  // Each backend carried its own data, and the primary none of it.
  EXPECT_EQ(world.primary().stats().streams_total, 1u);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(world.backends[i]->connection().stats().streams_total, 1u) << i;
    EXPECT_GT(world.stats(paths[i])->bytes_received, 100'000u);
    EXPECT_LT(world.stats(paths[i])->bytes_received, 130'000u);
  }
}

// This is more than the lease, and more than the client's first window.
void long_transfers(BackendsWorld& world) {
  const auto path = world.open(0);
  const auto other = world.open(1);
  ASSERT_TRUE(path && other);
  ASSERT_TRUE(world.client_exchange->ask(*path, 400'000, world.now()));
  ASSERT_TRUE(world.client_exchange->ask(*other, 10, world.now(), 400'000));
  ASSERT_TRUE(world.client_exchange->ask(std::nullopt, 100'000, world.now()));
  ASSERT_TRUE(world.run_until([&] { return world.client_exchange->all_finished(); }));
  EXPECT_EQ(world.backends[1]->exchange->uploaded, 400'000u);
}

void first_byte_after_one_round_trip(BackendsWorld& world) {
  const auto path = world.open(0);
  ASSERT_TRUE(path);
  world.run_for(500ms);
  const auto stream = world.client_exchange->ask(*path, 1000, world.now());
  ASSERT_TRUE(stream);
  ASSERT_TRUE(world.run_until([&] { return world.client_exchange->all_finished(); }));
  const ClientExchange::Answer& answer = world.client_exchange->answer(*stream);
  const LinkConfig& way = world.options.backend_links[0];
  // The bound is twice the delay and the jitter, plus the time to transmit so few bytes.
  const Duration round_trip = 2 * (way.delay + way.jitter) + 4ms;
  EXPECT_LE(*answer.first_byte - answer.asked, round_trip);
}

void upload_to_a_backend(BackendsWorld& world) {
  const auto path = world.open(0);
  ASSERT_TRUE(path);
  ASSERT_TRUE(world.client_exchange->ask(*path, 10, world.now(), 300'000));
  ASSERT_TRUE(world.run_until([&] { return world.client_exchange->all_finished(); }));
  EXPECT_EQ(world.backends[0]->exchange->uploaded, 300'000u);
}

void a_backend_opens_streams(BackendsWorld& world) {
  world.options.lease.ids = {{{0, 2}, {0, 2}}};
  const auto first = world.open(0);
  const auto second = world.open(1);
  ASSERT_TRUE(first && second);
  std::set<std::uint64_t> ids;
  for (std::size_t i = 0; i < 2; ++i) {
    Connection& backend = world.backends[i]->connection();
    for (int n = 0; n < 2; ++n) {
      const auto stream = backend.streams().writer().open(Directionality::kBidirectional);
      ASSERT_TRUE(stream);
      EXPECT_TRUE(ids.insert(stream->value).second) << "no two backends use the same";
      ASSERT_TRUE(backend.streams().writer().write(
          *stream, SendChunk::copy_of(answer_bytes(0, 5000)), true));
    }
    EXPECT_FALSE(backend.streams().writer().open(Directionality::kBidirectional))
        << "beyond the lease";
  }
  const auto own = world.primary().streams().writer().open(Directionality::kBidirectional);
  ASSERT_TRUE(own);
  EXPECT_TRUE(ids.insert(own->value).second);
  ASSERT_TRUE(world.primary().streams().writer().write(
      *own, SendChunk::copy_of(answer_bytes(0, 5000)), true));
  ASSERT_TRUE(world.run_until([&] {
    return world.client_exchange->answers.size() == 5 && world.client_exchange->all_finished();
  }));
  // The client's response goes to the backend that opened the stream.
  for (const std::uint64_t id : ids) {
    static_cast<void>(world.client().streams().writer().write(
        StreamId{id}, SendChunk::copy_of(answer_bytes(0, 8)), true));
  }
  ASSERT_TRUE(world.run_until([&] {
    return world.backends[0]->connection().stats().streams_open == 0 &&
           world.backends[1]->connection().stats().streams_open == 0 &&
           world.primary().stats().streams_open == 0;
  }));
}

void key_update_reaches_every_backend(BackendsWorld& world) {
  const auto path = world.open(0);
  const auto other = world.open(1);
  ASSERT_TRUE(path && other);
  world.run_for(1s);
  ASSERT_TRUE(world.client().initiate_key_update(world.now()));
  world.run_for(1s);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(world.backends[i]->connection().stats().key_updates, 1u) << i;
  }
  EXPECT_EQ(world.primary().stats().key_updates, 1u);
  ASSERT_TRUE(world.client_exchange->ask(*path, 50'000, world.now()));
  ASSERT_TRUE(world.client_exchange->ask(*other, 50'000, world.now()));
  ASSERT_TRUE(world.run_until([&] { return world.client_exchange->all_finished(); }));
}

void client_closes_everywhere(BackendsWorld& world) {
  ASSERT_TRUE(world.open(0));
  ASSERT_TRUE(world.open(1));
  world.client().close(7, "done", world.now());
  ASSERT_TRUE(world.run_until([&] {
    return world.primary().closed() && world.backends[0]->connection().closed() &&
           world.backends[1]->connection().closed();
  }));
  EXPECT_EQ(world.backends[0]->connection().closed()->error, 7u);
}

void anothers_stream_costs_a_backend_its_path(BackendsWorld& world) {
  std::array<StreamLease::Ids, 2> ids{};
  world.tamper = [&](BackendSeed& seed) { ids = seed.lease.ids; };
  const auto victim = world.open(0);
  world.tamper = [&](BackendSeed& seed) { seed.lease.ids = ids; };
  const auto liar = world.open(1);
  ASSERT_TRUE(victim && liar);
  StreamId streams[2];
  for (std::size_t i = 0; i < 2; ++i) {
    Connection& backend = world.backends[i]->connection();
    const auto stream = backend.streams().writer().open(Directionality::kBidirectional);
    ASSERT_TRUE(stream);
    streams[i] = *stream;
    ASSERT_TRUE(backend.streams().writer().write(*stream, SendChunk::copy_of(answer_bytes(0, 5000)),
                                                 false));
    ASSERT_TRUE(world.run_until([&] {
      return i == 0 ? world.client_exchange->answer(*stream).received == 5000
                    : world.abandoned(*liar) != nullptr;
    }));
  }
  ASSERT_EQ(streams[0], streams[1]);
  const PathAbandonedEvent* abandoned = world.abandoned(*liar);
  ASSERT_NE(abandoned, nullptr);
  EXPECT_EQ(abandoned->error, static_cast<std::uint64_t>(TransportErrorCode::kStreamStateError));
  EXPECT_FALSE(world.abandoned(*victim));
  EXPECT_EQ(world.client_exchange->answer(streams[0]).received, 5000u);
  EXPECT_FALSE(world.client_exchange->answer(streams[0]).lost);
}

class Backends : public ::testing::TestWithParam<Scenario> {};

TEST_P(Backends, Hold) {
  for (std::uint64_t seed = 1; seed <= k_seeds; ++seed) {
    BackendsWorld world(three_backends(seed));
    ASSERT_TRUE(world.run_until_confirmed());
    GetParam().run(world);
    if (GetParam().name != "ClientClosesEverywhere") check_the_rest(world);
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Multi, Backends,
    ::testing::Values(
        Scenario{"OfferAndValidate", offer_and_validate},
        Scenario{"ClientPathsAndOffersShareNoIds", client_paths_and_offers_share_no_ids},
        Scenario{"DownloadFromThreeAtOnce", download_from_three_at_once},
        Scenario{"LongTransfers", long_transfers},
        Scenario{"FirstByteAfterOneRoundTrip", first_byte_after_one_round_trip},
        Scenario{"UploadToABackend", upload_to_a_backend},
        Scenario{"ABackendOpensStreams", a_backend_opens_streams},
        Scenario{"KeyUpdateReachesEveryBackend", key_update_reaches_every_backend},
        Scenario{"ClientClosesEverywhere", client_closes_everywhere},
        Scenario{"AnothersStreamCostsABackendItsPath", anothers_stream_costs_a_backend_its_path}),
    [](const auto& parameter) { return parameter.param.name; });

}  // namespace
}  // namespace sheaf::quic
