#pragma once

#include <gtest/gtest.h>

#include "sim/direct_return/return_network.h"

namespace sheaf::quic {

inline constexpr std::uint64_t k_mb = 1'000'000;

// A site whose backends are near the gateway, and a client 20 ms away with 100 Mbit/s that lets
// them send on paths of their own.
inline ReturnNetwork::Options site_with_paths(std::size_t backends, double loss = 0,
                                              Duration spread = {}) {
  ReturnNetwork::Options options;
  options.own_recovery = true;
  options.access = {.queue_bytes = 1 << 20, .rate = 12'500'000, .delay = 20ms};
  options.access.loss = loss;
  options.gateway_way = 100us;
  for (std::size_t i = 0; i < backends; ++i) {
    options.backends.push_back(
        {.order = 100us, .way = 100us + spread * std::int64_t(i) / std::int64_t(backends)});
  }
  return options;
}

inline void ask_all(ReturnNetwork& network, std::uint64_t bytes) {
  for (std::size_t i = 0; i < network.backends.size(); ++i) network.request(i, bytes);
}

inline void run_until_finished(ReturnNetwork& network, Duration limit = 60s) {
  const auto outcome = network.simulation.run_until([&] { return network.all_finished(); }, limit);
  EXPECT_EQ(outcome, Simulation::Outcome::kReached) << "seed " << network.simulation.seed();
  EXPECT_TRUE(network.all_intact());
  EXPECT_EQ(network.pair.client.connection.closed(), nullptr);
  EXPECT_EQ(network.pair.server.connection.closed(), nullptr);
}

}  // namespace sheaf::quic
