#pragma once

#include <ostream>
#include <string>

#include "multi_end/backends_world.h"

namespace sheaf::quic {

struct Scenario {
  std::string name;
  std::function<void(BackendsWorld&)> run;
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

// Every second seed uses keys per path, the others shared keys.
inline BackendsWorld::Options three_backends(std::uint64_t seed) {
  SeededRandom random(seed);
  BackendsWorld::Options options{.seed = seed, .primary_link = link(random)};
  for (int i = 0; i < 3; ++i) options.backend_links.push_back(link(random));
  options.client.streams.initial_connection_window = 256_kib;
  options.server.streams.initial_connection_window = 256_kib;
  offer_multi_end(options.client,
                  seed % 2 == 0 ? BackendKeyModes::k_shared : BackendKeyModes::k_all);
  options.backbone = std::chrono::milliseconds(1 + random.below(30));
  return options;
}

// Checks what must hold in every scenario: the primary lives, no handshake packet went to a
// backend, and nothing that concerns a backend reached another one.
inline void check_the_rest(BackendsWorld& world) {
  for (const auto& backend : world.backends) EXPECT_EQ(backend->host.handshake_datagrams(), 0u);
  EXPECT_EQ(world.client().closed(), nullptr);
}

// One of the sides begins a key update as soon as it is permitted, repeatedly.
class KeyUpdates {
 public:
  KeyUpdates(BackendsWorld& world, std::uint64_t seed) : world_(world), random_(seed) {
    begin_one();
  }
  std::uint64_t begun = 0;

 private:
  void begin_one() {
    const std::size_t which = random_.below(2 + world_.backends.size());
    Connection* connection = which == 0   ? &world_.client()
                             : which == 1 ? &world_.primary()
                                          : world_.backends[which - 2]->host.connection();
    if (connection && connection->initiate_key_update(world_.now())) ++begun;
    world_.simulation.after(std::chrono::milliseconds(20 + random_.below(200)),
                            [this] { begin_one(); });
  }

  BackendsWorld& world_;
  SeededRandom random_;
};

}  // namespace sheaf::quic
