#pragma once

#include <ostream>
#include <string>

#include "ends/ends_world.h"

namespace sheaf::quic {

struct Scenario {
  std::string name;
  std::function<void(EndsWorld&)> run;
};
inline std::ostream& operator<<(std::ostream& out, const Scenario& scenario) {
  return out << scenario.name;
}

inline LinkConfig link(SeededRandom& random) {
  return {.queue_bytes = 64_kib,
          .rate = (5 + random.below(20)) * 125'000,
          .delay = std::chrono::milliseconds(5 + random.below(40)),
          .jitter = std::chrono::milliseconds(random.below(3))};
}

// Every second seed with keys of each path, the others with shared ones.
inline EndsWorld::Options three_ends(std::uint64_t seed) {
  SeededRandom random(seed);
  EndsWorld::Options options{.seed = seed, .primary_link = link(random)};
  for (int i = 0; i < 3; ++i) options.end_links.push_back(link(random));
  options.client.streams.initial_connection_window = 256_kib;
  options.server.streams.initial_connection_window = 256_kib;
  options.client.multi_end = seed % 2 == 0 ? EndKeyModes::k_shared : EndKeyModes::k_all;
  options.backbone = std::chrono::milliseconds(1 + random.below(30));
  return options;
}

// What nothing may change: the primary lives, no handshake packet went to an end, and nothing that
// concerns an end reached another.
inline void check_the_rest(EndsWorld& world) {
  for (const auto& end : world.ends) EXPECT_EQ(end->host.handshake_datagrams(), 0u);
  EXPECT_EQ(world.client().closed(), nullptr);
}

// Somebody begins a key update as soon as it is allowed, again and again.
class KeyUpdates {
 public:
  KeyUpdates(EndsWorld& world, std::uint64_t seed) : world_(world), random_(seed) { begin_one(); }
  std::uint64_t begun = 0;

 private:
  void begin_one() {
    const std::size_t which = random_.below(2 + world_.ends.size());
    Connection* connection = which == 0   ? &world_.client()
                             : which == 1 ? &world_.primary()
                                          : world_.ends[which - 2]->host.connection();
    if (connection && connection->initiate_key_update(world_.now())) ++begun;
    world_.simulation.after(std::chrono::milliseconds(20 + random_.below(200)),
                            [this] { begin_one(); });
  }

  EndsWorld& world_;
  SeededRandom random_;
};

}  // namespace sheaf::quic
