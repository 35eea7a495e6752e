#pragma once

#include <vector>

#include "sim/tunnel/tunnel_world.h"

namespace sheaf::quic {

struct SharingFlow {
  TunnelFlow flow{};
  Duration start{};
  Duration stop{};
};

// Downloads without an end that share the slow link
struct SharedSetting {
  TunnelWorldSetting world{};
  std::vector<SharingFlow> flows{};
  Duration length = 60s;
};

struct SharedResult {
  std::uint64_t digest = 0;
  bool intact = true;
  // Bytes that each flow has received at the end of each second
  std::vector<std::vector<std::uint64_t>> received{};
  // Smoothed round trips of the servers of running flows, each second
  std::vector<Duration> round_trips{};
};

SharedResult run_shared(const SharedSetting& setting, std::uint64_t seed);

}  // namespace sheaf::quic
