// What fails, and what the others make of it: alone, and while keys are updated all the time.
#include <gtest/gtest.h>

#include "multi_end/scenario.h"

namespace sheaf::quic {
namespace {

void withdrawn_in_mid_download(BackendsWorld& world) {
  const auto path = world.open(0);
  const auto other = world.open(1);
  ASSERT_TRUE(path && other);
  const auto stream = world.client_exchange->ask(*path, 120'000, world.now());
  ASSERT_TRUE(stream);
  ASSERT_TRUE(
      world.run_until([&] { return world.client_exchange->answer(*stream).received > 20'000; }));
  ASSERT_TRUE(withdraw_backend(world.primary(), BackendId{0}, k_backend_gone, world.now()));
  ClientExchange::Answer& answer = world.client_exchange->answer(*stream);
  ASSERT_TRUE(world.run_until([&] { return answer.lost || answer.finished; }));
  ASSERT_TRUE(answer.lost) << "the link is slower than the withdrawal";
  EXPECT_EQ(*answer.lost, answer.received) << "all that arrived can be used";
  EXPECT_TRUE(answer.intact);
  ASSERT_TRUE(world.abandoned(*path));
  ASSERT_TRUE(world.run_until([&] { return world.count<BackendLeftEvent>(Role::kServer) == 1; }));
  // The rest comes from somewhere else.
  const auto rest = world.client_exchange->ask(*other, 120'000 - *answer.lost, world.now());
  ASSERT_TRUE(rest);
  ASSERT_TRUE(world.run_until([&] { return world.client_exchange->answer(*rest).finished; }));
  EXPECT_EQ(answer.received + world.client_exchange->answer(*rest).received, 120'000u);
}

void drained(BackendsWorld& world) {
  const auto path = world.open(0);
  ASSERT_TRUE(path);
  const auto stream = world.client_exchange->ask(*path, 100'000, world.now());
  ASSERT_TRUE(stream);
  ASSERT_TRUE(
      world.run_until([&] { return world.client_exchange->answer(*stream).received > 1'000; }));
  ASSERT_TRUE(withdraw_backend(world.primary(), BackendId{0}, k_backend_drains, world.now()));
  ASSERT_TRUE(
      world.run_until([&] { return world.count<BackendWithdrawnEvent>(Role::kClient) == 1; }));
  EXPECT_FALSE(world.client_exchange->ask(*path, 10, world.now())) << "nothing new";
  world.client_exchange->answers.erase(stream->value + 4);
  ASSERT_TRUE(world.run_until([&] { return world.client_exchange->answer(*stream).finished; }));
  EXPECT_TRUE(world.client_exchange->answer(*stream).intact);
}

void backend_crash(BackendsWorld& world) {
  const auto path = world.open(0);
  const auto other = world.open(1);
  ASSERT_TRUE(path && other);
  const auto stream = world.client_exchange->ask(*path, 120'000, world.now());
  const auto safe = world.client_exchange->ask(*other, 100'000, world.now());
  ASSERT_TRUE(stream && safe);
  ASSERT_TRUE(
      world.run_until([&] { return world.client_exchange->answer(*stream).received > 20'000; }));
  world.backends[0]->crash();
  const Time crashed = world.now();
  ClientExchange::Answer& answer = world.client_exchange->answer(*stream);
  ASSERT_TRUE(world.run_until([&] { return answer.lost.has_value(); }, 10s));
  // docs/internals/multi-end.md states it.
  EXPECT_LE(world.now() - crashed, 4s);
  ASSERT_TRUE(world.abandoned(*path));
  EXPECT_EQ(*answer.lost, answer.received);
  EXPECT_TRUE(answer.intact);
  ASSERT_TRUE(world.run_until([&] { return world.client_exchange->answer(*safe).finished; }));
  EXPECT_TRUE(world.client_exchange->answer(*safe).intact) << "others do not notice";
}

void primary_crash(BackendsWorld& world) {
  const auto path = world.open(0);
  ASSERT_TRUE(path);
  ASSERT_TRUE(world.client_exchange->ask(*path, 100'000, world.now()));
  ASSERT_TRUE(
      world.run_until([&] { return world.backends[0]->connection().stats().streams_total == 1; }));
  NetworkPath& primary = *world.primary_path;
  LinkConfig dead = primary.there.config();
  dead.down = true;
  primary.there.change_at(world.now(), dead);
  primary.back.change_at(world.now(), dead);
  const auto waits = world.client_exchange->ask(std::nullopt, 100, world.now());
  ASSERT_TRUE(waits);
  ASSERT_TRUE(
      world.run_until([&] { return world.count<PrimaryLostEvent>(Role::kClient) == 1; }, 10s));
  world.client_exchange->answers.erase(waits->value);
  ASSERT_TRUE(world.run_until([&] { return world.client_exchange->all_finished(); }));
  // And a new request to the backend works still.
  ASSERT_TRUE(world.client_exchange->ask(*path, 20'000, world.now()));
  ASSERT_TRUE(world.run_until([&] { return world.client_exchange->all_finished(); }));
  EXPECT_EQ(world.stats(*path)->state, PathState::kActive);
}

void snapshot_comes_late(BackendsWorld& world) {
  // The client's first packet finds a backend that knows nothing yet.
  const BackendId id{0};
  auto seed =
      hand_over(world.primary(), id, BackendsWorld::addresses(1).remote, world.options.lease);
  ASSERT_TRUE(seed);
  ASSERT_TRUE(offer_backend(world.primary(), id));
  ASSERT_TRUE(world.run_until([&] { return world.offered(id) != nullptr; }));
  const auto path =
      open_backend(world.client(), id, BackendsWorld::addresses(0).local, world.now());
  ASSERT_TRUE(path);
  ASSERT_TRUE(world.run_until([&] { return world.backends[0]->host.datagrams() > 0; }));
  ASSERT_TRUE(world.backends[0]->import(encode_snapshot(*seed), world.options.server, world.now()));
  ASSERT_TRUE(world.run_until([&] { return world.validated(*path); }, 5s));
}

void a_backend_that_closes_costs_its_path(BackendsWorld& world) {
  const auto path = world.open(0);
  ASSERT_TRUE(path);
  const auto stream = world.client_exchange->ask(*path, 120'000, world.now());
  ASSERT_TRUE(
      world.run_until([&] { return world.client_exchange->answer(*stream).received > 1'000; }));
  world.backends[0]->connection().close_with_error(
      {TransportErrorCode::kInternalError, 0, "trouble"}, world.now());
  ASSERT_TRUE(
      world.run_until([&] { return world.client_exchange->answer(*stream).lost.has_value(); }, 5s));
  world.client_exchange->answers.clear();
  ASSERT_TRUE(world.client_exchange->ask(std::nullopt, 10'000, world.now()));
  ASSERT_TRUE(world.run_until([&] { return world.client_exchange->all_finished(); }));
}

void path_cut(BackendsWorld& world) {
  const auto path = world.open(0);
  const auto other = world.open(1);
  ASSERT_TRUE(path && other);
  const auto stream = world.client_exchange->ask(*path, 120'000, world.now());
  const auto safe = world.client_exchange->ask(*other, 100'000, world.now());
  ASSERT_TRUE(stream && safe);
  ClientExchange::Answer& answer = world.client_exchange->answer(*stream);
  ASSERT_TRUE(world.run_until([&] { return answer.received > 20'000; }));
  world.set_down(0, true);
  ASSERT_TRUE(world.run_until([&] { return answer.lost.has_value(); }, 10s));
  ASSERT_TRUE(world.run_until([&] { return world.client_exchange->answer(*safe).finished; }));
  // What the backend still has in flight when it can be heard again is for nobody.
  world.set_down(0, false);
  world.run_for(2s);
  EXPECT_EQ(*answer.lost, answer.received);
  EXPECT_EQ(world.count<BackendLeftEvent>(Role::kServer), 1);
}

void backends_join_during_downloads(BackendsWorld& world) {
  const auto path = world.open(0);
  ASSERT_TRUE(path);
  ASSERT_TRUE(world.client_exchange->ask(*path, 200'000, world.now()));
  for (std::size_t i = 1; i < 3; ++i) {
    const auto joined = world.open(i);
    ASSERT_TRUE(joined);
    ASSERT_TRUE(world.client_exchange->ask(*joined, 50'000, world.now()));
  }
  ASSERT_TRUE(world.run_until([&] { return world.client_exchange->all_finished(); }));
}

void client_address_change(BackendsWorld& world) {
  const auto path = world.open(0);
  const auto other = world.open(1);
  ASSERT_TRUE(path && other);
  ASSERT_TRUE(world.client_exchange->ask(*path, 120'000, world.now()));
  ASSERT_TRUE(world.client_exchange->ask(*other, 10, world.now(), 120'000));
  world.run_for(100ms);
  Address seen = BackendsWorld::addresses(0).local;
  for (NetworkPath* link : {world.links[0], world.links[1], world.primary_path}) {
    ++seen.port;
    world.simulation.rebind(*link, seen);
  }
  // A server follows the client's packets only (RFC 9000 §9.3), so that some have to come.
  world.client().ping(world.now());
  ASSERT_TRUE(world.run_until([&] { return world.client_exchange->all_finished(); }));
  EXPECT_FALSE(world.abandoned(*path));
  EXPECT_FALSE(world.abandoned(*other));
}

// Each had all the credit that there was, and part of the client's; none of it may be missing.
void twenty_crashes(BackendsWorld& world) {
  world.options.lease.credit = 1 << 30;
  for (int i = 0; i < 20; ++i) {
    const std::size_t backend = static_cast<std::size_t>(i) % 3;
    const auto path = world.open(backend);
    ASSERT_TRUE(path) << i;
    const auto whole = world.client_exchange->ask(*path, 20'000, world.now(), 40'000);
    ASSERT_TRUE(whole) << i;
    ASSERT_TRUE(world.run_until([&] { return world.client_exchange->answer(*whole).finished; }));
    const auto half = world.client_exchange->ask(*path, 60'000, world.now(), 60'000);
    ASSERT_TRUE(half) << i;
    world.run_for(40ms);
    world.backends[backend]->crash();
    ASSERT_TRUE(world.run_until(
        [&] { return world.count<BackendLeftEvent>(Role::kServer) == i + 1; }, 10s));
    world.run_for(1s);
    ASSERT_FALSE(world.client().closed());
  }
  EXPECT_EQ(world.grantor->leased(), 0u);
  world.client_exchange->answers.clear();
  ASSERT_TRUE(world.client_exchange->ask(std::nullopt, 600'000, world.now(), 600'000));
  ASSERT_TRUE(world.run_until([&] { return world.client_exchange->all_finished(); }, 20s));
}

class BackendFaults : public ::testing::TestWithParam<Scenario> {};

TEST_P(BackendFaults, CostNoMoreThanTheBackend) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    BackendsWorld world(three_backends(seed));
    ASSERT_TRUE(world.run_until_confirmed());
    GetParam().run(world);
    check_the_rest(world);
    if (HasFailure()) return;
  }
}

TEST_P(BackendFaults, DuringKeyUpdates) {
  std::uint64_t updates = 0;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    BackendsWorld world(three_backends(seed));
    ASSERT_TRUE(world.run_until_confirmed());
    KeyUpdates keys(world, seed);
    GetParam().run(world);
    check_the_rest(world);
    updates += keys.begun;
    if (HasFailure()) return;
  }
  EXPECT_GE(updates, 20u);
}

INSTANTIATE_TEST_SUITE_P(
    Multi, BackendFaults,
    ::testing::Values(Scenario{"WithdrawnInMidDownload", withdrawn_in_mid_download},
                      Scenario{"Drained", drained}, Scenario{"BackendCrash", backend_crash},
                      Scenario{"PrimaryCrash", primary_crash}, Scenario{"PathCut", path_cut},
                      Scenario{"SnapshotComesLate", snapshot_comes_late},
                      Scenario{"BackendsJoinDuringDownloads", backends_join_during_downloads},
                      Scenario{"ClientAddressChange", client_address_change},
                      Scenario{"ABackendThatClosesCostsItsPath",
                               a_backend_that_closes_costs_its_path}),
    [](const auto& parameter) { return parameter.param.name; });

TEST(BackendCrashes, TwentyWithFullLeasesDoNotStarveThePrimary) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    BackendsWorld world(three_backends(seed));
    ASSERT_TRUE(world.run_until_confirmed());
    twenty_crashes(world);
    check_the_rest(world);
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace sheaf::quic
