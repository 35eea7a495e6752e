#include "sim/tunnel/shared_run.h"

namespace sheaf::quic {

namespace {

// More than any link here carries
constexpr std::uint64_t k_endless = std::uint64_t{1} << 40;

std::vector<TunnelFlow> endless(const std::vector<SharingFlow>& flows) {
  std::vector<TunnelFlow> made;
  for (const SharingFlow& sharing : flows) {
    made.push_back(sharing.flow);
    made.back().bytes = k_endless;
  }
  return made;
}

}  // namespace

SharedResult run_shared(const SharedSetting& setting, std::uint64_t seed) {
  // Flows that start at one instant would be in step. They are apart by part of a round trip.
  SeededRandom random(seed);
  TunnelWorld world(setting.world, endless(setting.flows), seed, {});
  Simulation& simulation = world.simulation;
  const auto apart = static_cast<std::uint64_t>(Duration(100ms).count());
  for (std::size_t i = 0; i < setting.flows.size(); ++i) {
    const Duration late(static_cast<std::int64_t>(random.below(apart)));
    simulation.after(setting.flows[i].start + late, [&world, i] { world.start(i); });
    simulation.after(setting.flows[i].stop, [&world, i] { world.flows[i].download.stop(); });
  }
  SharedResult made;
  for (Duration passed{}; passed < setting.length; passed += 1s) {
    simulation.run_for(1s);
    std::vector<std::uint64_t>& row = made.received.emplace_back();
    for (std::size_t i = 0; i < setting.flows.size(); ++i) {
      TunnelWorld::Flow& flow = world.flows[i];
      row.push_back(flow.download.received());
      made.intact &= flow.download.intact();
      const bool running = setting.flows[i].start <= passed && passed < setting.flows[i].stop;
      if (!running) continue;
      made.round_trips.push_back(flow.server.connection.paths().stats().front().smoothed_rtt);
    }
  }
  made.digest = simulation.digest();
  return made;
}

}  // namespace sheaf::quic
