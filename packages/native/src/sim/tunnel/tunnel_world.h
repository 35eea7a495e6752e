#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "sim/simulation.h"
#include "sim/tunnel/download.h"
#include "sim/tunnel/tunnel_hosts.h"

namespace sheaf::quic {

// What all tunnels of a simulation have in common. Clients reach the tunnel's server over one slow
// and lossy link, and it reaches their servers over others, which are neither.
struct TunnelWorldSetting {
  TunnelMode mode = TunnelMode::kDatagram;
  std::size_t streams = 4;                                 // of a stream group
  double loss_down = 0;                                    // shares of the packets between
  double loss_up = 0;                                      // client and tunnel
  std::uint64_t rate = 1'250'000;                          // bytes per second, each way
  std::shared_ptr<const CapacityTrace> trace{};            // in place of `rate` towards clients
  std::size_t link_queue = 256 << 10;                      // bytes, before the slow link
  CongestionAlgorithm outer = CongestionAlgorithm::kNone;  // of the tunnels
  CongestionAlgorithm inner = CongestionAlgorithm::kBbrV1;
  InnerPacketQueueConfig queue{};  // at the tunnel's server
  // The servers obey reports of the tunnel in place of `inner`.
  std::optional<ObedienceConfig> obedience{};
  // The servers keep `inner`, and follow reports within it, as the product does.
  bool guided = false;
  bool fair = false;             // flows of a tunnel take turns
  bool warm_start = false;       // clients tell servers the tunnel's rate with the request
  bool probes_steadily = false;  // the tunnel looks for its path at most two round trips apart
  std::uint8_t idle_copies = 0;  // of what is in flight, while nothing else waits at the tunnel
};

// An inner connection and its download
struct TunnelFlow {
  std::size_t tunnel = 0;              // the tunnels are numbered from 0
  Duration server_round_trip = 140ms;  // client to server, through the tunnel
  Duration tunnel_round_trip = 40ms;   // client to the tunnel's server, equal for each of a tunnel
  std::uint64_t bytes = 1'000'000;
};

// The hosts of tunnels with their connections, which are established, and links
class TunnelWorld {
 public:
  struct Flow {
    ConnectionHost client;
    ConnectionHost server;
    InnerPacketDelays delays;
    Download download;
    InnerHost server_host;
    InnerHost client_host;  // without a tunnel
    std::optional<ReportReader> reports;
    Flow(Simulation& simulation, const ConnectionConfig& config, std::uint64_t bytes);
  };

  // `offset`: passes before anything happens. A trace begins with the simulation, so that this is
  // the place in it.
  TunnelWorld(const TunnelWorldSetting& setting, const std::vector<TunnelFlow>& plans,
              std::uint64_t seed, Duration offset);
  TunnelWorld(const TunnelWorld&) = delete;
  TunnelWorld& operator=(const TunnelWorld&) = delete;

  // Makes the client of a flow request its download.
  void start(std::size_t flow);

  Simulation simulation;
  std::deque<Flow> flows;
  // The server's end of a tunnel; null without tunnels
  const TunnelEnd* server_end(std::size_t tunnel) const {
    return tunnel < tunnels_.size() ? &tunnels_[tunnel].server_end : nullptr;
  }
  const LinkStats& slow_link() const { return simulation.network().link(slow_link_).stats(); }

 private:
  struct Tunnel {
    TunnelEnd client_end;
    TunnelEnd server_end;
    std::optional<TunnelClientHost> client;
    std::optional<TunnelServerHost> server;
    Tunnel(const ConnectionConfig& config, const TunnelEndConfig& of_client,
           const TunnelEndConfig& of_server, Random& random, Time now);
  };

  ConnectionConfig inner_config(std::size_t flow) const;
  ConnectionConfig outer_config(const TunnelFlow& flow) const;
  void add_slow_link();
  void lead_over_slow_link(const NetworkNode& near, const NetworkNode& far, Duration round_trip);
  void add_flows();
  void connect_tunnel(std::size_t tunnel);
  void connect_forwarder();

  TunnelWorldSetting setting_;
  std::vector<TunnelFlow> plans_;
  std::deque<Tunnel> tunnels_;
  std::optional<ForwarderHost> forwarder_;
  std::size_t trunk_ = 0;
  std::size_t slow_link_ = 0;
};

}  // namespace sheaf::quic
