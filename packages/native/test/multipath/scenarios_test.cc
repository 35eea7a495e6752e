// Tests hand-overs and other events in the life of paths. Each case runs under 20 seeds, which
// determine the links. Data must arrive complete whatever happens.
#include <gtest/gtest.h>

#include <functional>
#include <ostream>
#include <string>

#include "multipath/world.h"

namespace sheaf::quic {
namespace {

constexpr int k_seeds = 20;
constexpr std::uint64_t k_bytes = 1'000'000;

struct Scenario {
  std::string name;
  std::function<World::Options(SeededRandom&)> options;
  std::function<void(World&)> run;
};
std::ostream& operator<<(std::ostream& out, const Scenario& scenario) {
  return out << scenario.name;
}

// --- links ---------------------------------------------------------------------------------------

LinkConfig link(SeededRandom& random) {
  return {.queue_bytes = 64_kib,
          .rate = (5 + random.below(20)) * 125'000,
          .delay = std::chrono::milliseconds(5 + random.below(40)),
          .jitter = std::chrono::milliseconds(random.below(3))};
}

World::Options two(SeededRandom& random) { return {.links = {link(random), link(random)}}; }
World::Options three(SeededRandom& random) {
  return {.links = {link(random), link(random), link(random)}};
}
World::Options lossy(SeededRandom& random) {
  World::Options options = two(random);
  for (LinkConfig& each : options.links) each.loss = 0.03;
  return options;
}
World::Options with_satellite(SeededRandom& random) {
  World::Options options = two(random);
  options.links[1].delay = 300ms;
  options.links[1].rate = 10_mbps;
  options.links[1].queue_bytes = 750_kib;
  return options;
}
World::Options rough(SeededRandom& random) {
  World::Options options = two(random);
  for (LinkConfig& each : options.links) {
    each.loss = 0.02;
    each.duplication = 0.02;
    each.reordering = 0.05;
    each.reordering_delay = 20ms;
  }
  return options;
}

// --- steps ---------------------------------------------------------------------------------------

// Two paths work, and a download is in flight.
PathId begin(World& world, std::uint64_t bytes = k_bytes) {
  EXPECT_TRUE(world.run_until_confirmed());
  const auto id = world.open_path(1);
  EXPECT_TRUE(id);
  world.start(Role::kServer, bytes);
  world.run_for(100ms);
  return id.value_or(PathId{1});
}
void finish(World& world) {
  EXPECT_TRUE(world.run_until_transferred()) << world.transfer->received() << " bytes arrived";
  for (const ConnectionClosed& end : world.ends) ADD_FAILURE() << "ended: " << end.reason;
}
// Both sides now send with these keys.
void expect_key_updates(World& world, std::uint64_t updates) {
  EXPECT_TRUE(world.run_until([&] {
    return world.client().stats().key_updates >= updates &&
           world.server().stats().key_updates >= updates;
  }));
  EXPECT_EQ(world.client().stats().key_updates, updates);
  EXPECT_EQ(world.server().stats().key_updates, updates);
}
void rebind(World& world, std::size_t interface, std::uint16_t port) {
  Address seen = World::addresses(interface).local;
  seen.port = port;
  world.simulation.rebind(*world.links[interface], seen);
}

std::vector<Scenario> scenarios() {
  const auto abandon = [](World& world, Role role, PathId id) {
    EXPECT_TRUE(world.pair->host(role).connection.paths().abandon(id, 0x3e, world.now()));
  };
  return {
      {"basic", two,
       [](World& world) {
         begin(world);
         finish(world);
       }},
      {"upload", two,
       [](World& world) {
         EXPECT_TRUE(world.run_until_confirmed());
         EXPECT_TRUE(world.open_path(1));
         world.start(Role::kClient, k_bytes);
         finish(world);
       }},
      {"three_paths", three,
       [](World& world) {
         EXPECT_TRUE(world.run_until_confirmed());
         EXPECT_TRUE(world.open_path(1));
         EXPECT_TRUE(world.open_path(2));
         world.start(Role::kServer, k_bytes);
         finish(world);
       }},
      {"open_during_transfer", two,
       [](World& world) {
         EXPECT_TRUE(world.run_until_confirmed());
         world.start(Role::kServer, k_bytes);
         world.run_for(50ms);
         EXPECT_TRUE(world.client().paths().open(World::addresses(1), world.now()));
         finish(world);
       }},
      {"loss", lossy,
       [](World& world) {
         begin(world);
         finish(world);
       }},
      {"rough_links", rough,
       [](World& world) {
         begin(world);
         finish(world);
       }},
      {"break_first", two,
       [](World& world) {
         begin(world);
         world.set_down(0, true);
         finish(world);
       }},
      {"break_second", two,
       [](World& world) {
         begin(world);
         world.set_down(1, true);
         finish(world);
       }},
      {"break_under_loss", lossy,
       [](World& world) {
         begin(world);
         world.set_down(1, true);
         finish(world);
       }},
      {"back", two,
       [](World& world) {
         begin(world, 3 * k_bytes);
         world.set_down(0, true);
         world.run_for(700ms);
         world.set_down(0, false);
         finish(world);
       }},
      {"flapping", two,
       [](World& world) {
         begin(world, 3 * k_bytes);
         for (int i = 0; i < 6; ++i) {
           world.set_down(static_cast<std::size_t>(i % 2), true);
           world.run_for(150ms);
           world.set_down(static_cast<std::size_t>(i % 2), false);
           world.run_for(150ms);
         }
         finish(world);
       }},
      {"both_down_for_a_while", two,
       [](World& world) {
         begin(world);
         world.set_down(0, true);
         world.set_down(1, true);
         world.run_for(2s);
         world.set_down(0, false);
         world.set_down(1, false);
         finish(world);
       }},
      {"break_one_way", two,
       [](World& world) {
         begin(world);
         LinkConfig silent = world.links[1]->there.config();
         silent.down = true;
         world.links[1]->there.change_at(world.now(), silent);
         finish(world);
       }},
      {"break_the_other_way", two,
       [](World& world) {
         begin(world);
         LinkConfig silent = world.links[1]->back.config();
         silent.down = true;
         world.links[1]->back.change_at(world.now(), silent);
         finish(world);
       }},
      {"make_before_break", two,
       [abandon](World& world) {
         begin(world);
         abandon(world, Role::kClient, PathId{0});
         world.set_down(0, true);
         finish(world);
       }},
      {"break_then_make", two,
       [](World& world) {
         EXPECT_TRUE(world.run_until_confirmed());
         world.start(Role::kServer, k_bytes);
         world.run_for(100ms);
         world.set_down(0, true);
         world.run_for(300ms);
         EXPECT_TRUE(world.client().paths().open(World::addresses(1), world.now()));
         finish(world);
       }},
      {"backup", two,
       [](World& world) {
         const PathId id = begin(world);
         EXPECT_TRUE(world.client().paths().set_status(id, PathStatus::kBackup, world.now()));
         finish(world);
       }},
      {"backup_takes_over", two,
       [](World& world) {
         const PathId id = begin(world);
         EXPECT_TRUE(world.client().paths().set_status(id, PathStatus::kBackup, world.now()));
         world.run_for(100ms);
         world.set_down(0, true);
         finish(world);
       }},
      {"standby_up", two,
       [](World& world) {
         const PathId id = begin(world, 2 * k_bytes);
         EXPECT_TRUE(world.client().paths().set_status(id, PathStatus::kBackup, world.now()));
         world.run_for(200ms);
         EXPECT_TRUE(world.client().paths().set_status(id, PathStatus::kAvailable, world.now()));
         finish(world);
       }},
      {"server_prefers_backup", two,
       [](World& world) {
         const PathId id = begin(world);
         EXPECT_TRUE(world.server().paths().set_status(id, PathStatus::kBackup, world.now()));
         finish(world);
         EXPECT_EQ(world.count<PathStatusEvent>(Role::kClient), 1);
       }},
      {"both_backup", two,
       [](World& world) {
         const PathId id = begin(world);
         EXPECT_TRUE(world.client().paths().set_status(id, PathStatus::kBackup, world.now()));
         EXPECT_TRUE(
             world.client().paths().set_status(PathId{0}, PathStatus::kBackup, world.now()));
         finish(world);
       }},
      {"status_changes_race", lossy,
       [](World& world) {
         const PathId id = begin(world);
         for (int i = 0; i < 11; ++i) {
           const PathStatus status = i % 2 ? PathStatus::kAvailable : PathStatus::kBackup;
           EXPECT_TRUE(world.client().paths().set_status(id, status, world.now()));
           world.run_for(10ms);
         }
         finish(world);
         world.run_for(2s);
         EXPECT_EQ(world.stats(Role::kServer, id)->peer_status, PathStatus::kBackup);
       }},
      {"satellite", with_satellite,
       [](World& world) {
         begin(world, 3 * k_bytes);
         finish(world);
       }},
      {"satellite_remains", with_satellite,
       [](World& world) {
         begin(world);
         world.set_down(0, true);
         finish(world);
       }},
      {"nat_rebinding_of_first", two,
       [](World& world) {
         begin(world);
         rebind(world, 0, 50'001);
         finish(world);
       }},
      {"nat_rebinding_of_second", two,
       [](World& world) {
         begin(world);
         rebind(world, 1, 50'001);
         finish(world);
       }},
      {"nat_rebinding_again_and_again",
       [](SeededRandom& random) {
         // A client that only receives would be unreachable once both paths moved.
         World::Options options = two(random);
         options.client.keep_alive = 300ms;
         return options;
       },
       [](World& world) {
         begin(world, 2 * k_bytes);
         for (std::uint16_t i = 1; i < 6; ++i) {
           rebind(world, i % 2, static_cast<std::uint16_t>(50'000 + i));
           world.run_for(120ms);
         }
         finish(world);
       }},
      {"migration_of_second", three,
       [](World& world) {
         const PathId id = begin(world);
         EXPECT_TRUE(world.client().paths().migrate(World::addresses(2).local, world.now(), id));
         finish(world);
       }},
      {"abandon_by_client", two,
       [abandon](World& world) {
         abandon(world, Role::kClient, begin(world));
         finish(world);
       }},
      {"abandon_by_server", two,
       [abandon](World& world) {
         abandon(world, Role::kServer, begin(world));
         finish(world);
       }},
      {"both_sides_abandon", two,
       [abandon](World& world) {
         const PathId id = begin(world);
         abandon(world, Role::kClient, id);
         abandon(world, Role::kServer, id);
         finish(world);
         world.run_for(5s);
         EXPECT_FALSE(world.stats(Role::kClient, id));
         EXPECT_FALSE(world.stats(Role::kServer, id));
       }},
      {"sides_abandon_different_paths", two,
       [abandon](World& world) {
         // No path is left, so the connection ends. It must not hang.
         const PathId id = begin(world, 20 * k_bytes);
         abandon(world, Role::kClient, id);
         abandon(world, Role::kServer, PathId{0});
         EXPECT_TRUE(world.run_until([&] { return world.ends.size() >= 2; }));
       }},
      {"abandon_under_loss", lossy,
       [abandon](World& world) {
         const PathId id = begin(world);
         abandon(world, Role::kClient, id);
         finish(world);
         EXPECT_TRUE(world.run_until([&] { return !world.stats(Role::kServer, id); }));
       }},
      {"abandon_while_validating", two,
       [abandon](World& world) {
         EXPECT_TRUE(world.run_until_confirmed());
         const auto id = world.client().paths().open(World::addresses(1), world.now());
         EXPECT_TRUE(id);
         abandon(world, Role::kClient, *id);
         world.start(Role::kServer, k_bytes);
         finish(world);
         EXPECT_TRUE(world.open_path(1));
       }},
      {"abandon_a_dead_path", two,
       [abandon](World& world) {
         const PathId id = begin(world);
         world.set_down(1, true);
         abandon(world, Role::kServer, id);
         finish(world);
         EXPECT_TRUE(world.run_until([&] { return !world.stats(Role::kClient, id); }));
       }},
      {"one_after_another", three,
       [abandon](World& world) {
         PathId last = begin(world, 3 * k_bytes);
         abandon(world, Role::kClient, PathId{0});
         for (int i = 0; i < 8; ++i) {
           // New ids arrive when old paths are forgotten.
           std::optional<PathId> next;
           for (int wait = 0; wait < 20 && !next; ++wait) {
             next = world.open_path(static_cast<std::size_t>(i % 2 ? 1 : 2));
             if (!next) world.run_for(200ms);
           }
           ASSERT_TRUE(next) << i;
           abandon(world, Role::kClient, last);
           last = *next;
         }
         finish(world);
       }},
      {"key_update", two,
       [](World& world) {
         begin(world);
         EXPECT_TRUE(world.client().initiate_key_update(world.now()));
         expect_key_updates(world, 1);
         finish(world);
       }},
      {"key_update_under_loss", lossy,
       [](World& world) {
         begin(world);
         EXPECT_TRUE(world.server().initiate_key_update(world.now()));
         expect_key_updates(world, 1);
         finish(world);
       }},
      {"key_updates_from_both_sides_across_a_break", lossy,
       [](World& world) {
         begin(world, 2 * k_bytes);
         EXPECT_TRUE(world.client().initiate_key_update(world.now()));
         EXPECT_TRUE(world.server().initiate_key_update(world.now()));
         world.set_down(1, true);
         world.run_for(1500ms);
         // Both sides began the same update.
         expect_key_updates(world, 1);
         world.set_down(1, false);
         // RFC 10069 §5.6: once the keys of the previous phase are gone.
         bool begun = false;
         for (int wait = 0; wait < 100 && !begun; ++wait) {
           begun = world.client().initiate_key_update(world.now());
           if (!begun) world.run_for(100ms);
         }
         EXPECT_TRUE(begun);
         expect_key_updates(world, 2);
         finish(world);
       }},
      {"new_connection_ids_on_both", two,
       [](World& world) {
         const PathId id = begin(world);
         EXPECT_TRUE(world.client().paths().rotate_connection_id(PathId{0}));
         EXPECT_TRUE(world.client().paths().rotate_connection_id(id));
         EXPECT_TRUE(world.server().paths().rotate_connection_id(id));
         finish(world);
       }},
      {"smaller_mtu_on_second",
       [](SeededRandom& random) {
         World::Options options = two(random);
         options.links[1].mtu = 1250;
         return options;
       },
       [](World& world) {
         begin(world);
         finish(world);
       }},
      {"rate_drops", two,
       [](World& world) {
         begin(world);
         LinkConfig slow = world.links[0]->back.config();
         slow.rate = 1_mbps;
         world.links[0]->back.change_at(world.now(), slow);
         finish(world);
       }},
      {"close_with_one_dark_path", two,
       [](World& world) {
         begin(world, 20 * k_bytes);
         world.set_down(0, true);
         world.run_for(1s);
         world.client().close(7, "done", world.now());
         EXPECT_TRUE(world.run_until([&] { return world.ends.size() >= 2; }));
         EXPECT_EQ(world.ends.back().error, 7u);
       }},
  };
}

class Scenarios : public ::testing::TestWithParam<Scenario> {};

TEST_P(Scenarios, HoldOnEverySeed) {
  for (std::uint64_t seed = 1; seed <= k_seeds; ++seed) {
    SeededRandom random(seed);
    World::Options options = GetParam().options(random);
    options.seed = seed;
    World world(options);
    GetParam().run(world);
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Multipath, Scenarios, ::testing::ValuesIn(scenarios()),
                         [](const auto& parameter) { return parameter.param.name; });

}  // namespace
}  // namespace sheaf::quic
