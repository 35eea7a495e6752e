#include "sim/tunnel/tunnel_world.h"

#include <algorithm>
#include <array>

#include "sim/addresses.h"

namespace sheaf::quic {

namespace {

// Payloads of UDP: what fits into packets of 1500 bytes with IPv6, and what a tunnel leaves of it
constexpr std::uint16_t k_outer_payload = 1452;
constexpr std::uint16_t k_inner_payload = 1418;
// Windows that never limit a download
constexpr std::uint64_t k_window = std::uint64_t{64} << 20;
// Connections live while flows wait for their turn.
constexpr Duration k_keep_alive = 10s;

Address with_port(std::array<std::uint8_t, 4> host, std::size_t base, std::size_t index) {
  return ipv4(host, static_cast<std::uint16_t>(base + index));
}
// Of one tunnel
Address client_address(std::size_t tunnel) { return with_port({10, 0, 0, 1}, 4000, tunnel); }
Address tunnel_address(std::size_t tunnel) { return with_port({10, 0, 1, 1}, 8000, tunnel); }
// Of one flow
Address own_client_address(std::size_t flow) { return with_port({10, 0, 0, 1}, 5000, flow); }
Address towards_server(std::size_t flow) { return with_port({10, 0, 1, 2}, 6000, flow); }
Address server_address(std::size_t flow) {
  return ipv4({10, 0, 2, static_cast<std::uint8_t>(1 + flow)}, 443);
}
// The tunnel's address that stands for a server without a tunnel
Address forwarding_address(std::size_t flow) { return with_port({10, 0, 1, 1}, 7000, flow); }
std::string server_name(std::size_t flow) { return "server" + std::to_string(flow); }
std::string client_name(std::size_t index) { return "client" + std::to_string(index); }
std::string tunnel_name(std::size_t tunnel) { return "tunnel" + std::to_string(tunnel); }

ConnectionConfig fixed_size(std::uint16_t payload) {
  ConnectionConfig config;
  config.initial_udp_payload_size = config.max_udp_payload_size = payload;
  config.discover_mtu = false;
  config.use_ecn = false;
  config.multipath = false;
  config.keep_alive = k_keep_alive;
  config.streams.initial_connection_window = config.streams.max_connection_window = k_window;
  config.streams.initial_stream_window = config.streams.max_stream_window = k_window;
  return config;
}

}  // namespace

TunnelWorld::Flow::Flow(Simulation& simulation, const ConnectionConfig& config, std::uint64_t bytes)
    : client(Role::kClient, config, simulation.random(), simulation.now()),
      server(Role::kServer, config, simulation.random(), simulation.now()),
      download(client, server, bytes),
      server_host(server, delays, true),
      client_host(client, delays, false) {}

TunnelWorld::Tunnel::Tunnel(const ConnectionConfig& config, const TunnelEndConfig& of_client,
                            const TunnelEndConfig& of_server, Random& random, Time now)
    : client_end(Role::kClient, config, of_client, random, now),
      server_end(Role::kServer, config, of_server, random, now) {}

TunnelWorld::TunnelWorld(const TunnelWorldSetting& setting, const std::vector<TunnelFlow>& plans,
                         std::uint64_t seed, Duration offset)
    : simulation(seed), setting_(setting), plans_(plans) {
  simulation.run_for(offset);
  add_slow_link();
  add_flows();
  if (setting_.mode == TunnelMode::kForward) {
    connect_forwarder();
    return;
  }
  for (std::size_t tunnel = 0;; ++tunnel) {
    const bool used =
        std::ranges::any_of(plans_, [&](const TunnelFlow& flow) { return flow.tunnel == tunnel; });
    if (!used) break;
    connect_tunnel(tunnel);
  }
}

ConnectionConfig TunnelWorld::inner_config(std::size_t flow) const {
  ConnectionConfig config = fixed_size(k_inner_payload);
  config.congestion.algorithm =
      setting_.obedience ? CongestionAlgorithm::kOutsideRate : setting_.inner;
  config.congestion.seed = simulation.seed() + 2 * flow;
  config.follow_tunnel_reports = setting_.guided;
  return config;
}

ConnectionConfig TunnelWorld::outer_config(const TunnelFlow& flow) const {
  ConnectionConfig config = fixed_size(k_outer_payload);
  config.congestion.algorithm = setting_.outer;
  config.congestion.seed = simulation.seed() + 1 + 2 * flow.tunnel;
  config.streams.send_buffer = 64 << 10;
  if (setting_.probes_steadily) config.longest_probe_wait = 2 * flow.tunnel_round_trip;
  return config;
}

// All paths lead through it. Each has links of its own for delay and loss, which so lies behind the
// queue.
void TunnelWorld::add_slow_link() {
  const LinkConfig up{.queue_bytes = setting_.link_queue, .rate = setting_.rate};
  LinkConfig down = up;
  if (setting_.trace) {
    down.rate = 0;
    down.trace = setting_.trace;
  }
  trunk_ = simulation.add_trunk(up, down);
  slow_link_ = simulation.network().link_count() - 1;
}

void TunnelWorld::lead_over_slow_link(const NetworkNode& near, const NetworkNode& far,
                                      Duration round_trip) {
  const LinkConfig up{.loss = setting_.loss_up, .delay = round_trip / 2};
  const LinkConfig down{.loss = setting_.loss_down, .delay = round_trip / 2};
  simulation.lead_through(simulation.connect(near, far, up, down), trunk_);
}

void TunnelWorld::add_flows() {
  for (std::size_t i = 0; i < plans_.size(); ++i) {
    const TunnelFlow& plan = plans_[i];
    const LinkConfig fast{.queue_bytes = 4 << 20,
                          .rate = 125'000'000,
                          .delay = (plan.server_round_trip - plan.tunnel_round_trip) / 2};
    Flow& flow = flows.emplace_back(simulation, inner_config(i), plan.bytes);
    if (setting_.obedience) {
      flow.server_host.obey(flow.reports.emplace(flow.server, *setting_.obedience));
    }
    const std::size_t tunnel = setting_.mode == TunnelMode::kForward ? 0 : plan.tunnel;
    simulation.add_host(server_name(i), flow.server_host);
    simulation.connect({tunnel_name(tunnel), towards_server(i)},
                       {server_name(i), server_address(i)}, fast);
  }
}

void TunnelWorld::connect_tunnel(std::size_t index) {
  const Time now = simulation.now();
  const auto first = std::ranges::find(plans_, index, &TunnelFlow::tunnel);
  // Queues of the client's own packets have no limit: they are small.
  const TunnelEndConfig of_client{.mode = setting_.mode, .streams = setting_.streams, .queue = {}};
  TunnelEndConfig of_server = of_client;
  of_server.queue = setting_.queue;
  of_server.fair = setting_.fair;
  of_server.idle_copies = setting_.idle_copies;
  Tunnel& tunnel =
      tunnels_.emplace_back(outer_config(*first), of_client, of_server, simulation.random(), now);
  // Both hosts number the flows of all tunnels alike.
  std::vector<TunnelClientHost::Flow> at_client;
  std::vector<AddressPair> targets;
  for (std::size_t i = 0; i < flows.size(); ++i) {
    const AddressPair seen{own_client_address(i), server_address(i)};
    const bool own = plans_[i].tunnel == index;
    at_client.push_back(
        {.inner = own ? &flows[i].client : nullptr, .path = seen, .delays = &flows[i].delays});
    targets.push_back({towards_server(i), server_address(i)});
    if (!own) continue;
    establish_both(flows[i].client.connection, seen, flows[i].server.connection,
                   {server_address(i), towards_server(i)}, now);
  }
  tunnel.client.emplace(tunnel.client_end, std::move(at_client));
  tunnel.server.emplace(tunnel.server_end, std::move(targets));
  if (setting_.obedience || setting_.guided) tunnel.server->start_reports();
  simulation.add_host(client_name(index), *tunnel.client);
  simulation.add_host(tunnel_name(index), *tunnel.server);
  const AddressPair outer{client_address(index), tunnel_address(index)};
  lead_over_slow_link({client_name(index), outer.local}, {tunnel_name(index), outer.remote},
                      first->tunnel_round_trip);
  establish_both(tunnel.client_end.outer.connection, outer, tunnel.server_end.outer.connection,
                 reversed(outer), now);
}

void TunnelWorld::connect_forwarder() {
  std::vector<ForwarderHost::Rule> rules;
  for (std::size_t i = 0; i < flows.size(); ++i) {
    rules.push_back({.client = {forwarding_address(i), own_client_address(i)},
                     .server = {towards_server(i), server_address(i)}});
  }
  forwarder_.emplace(rules);
  simulation.add_host(tunnel_name(0), *forwarder_);
  for (std::size_t i = 0; i < flows.size(); ++i) {
    simulation.add_host(client_name(i), flows[i].client_host);
    lead_over_slow_link({client_name(i), own_client_address(i)},
                        {tunnel_name(0), forwarding_address(i)}, plans_[i].tunnel_round_trip);
    establish_both(flows[i].client.connection, {own_client_address(i), forwarding_address(i)},
                   flows[i].server.connection, {server_address(i), towards_server(i)},
                   simulation.now());
  }
}

void TunnelWorld::start(std::size_t flow) {
  const std::size_t tunnel = plans_[flow].tunnel;
  if (setting_.warm_start && tunnel < tunnels_.size()) tunnels_[tunnel].client->start_warm(flow);
  flows[flow].download.start(simulation.now());
}

}  // namespace sheaf::quic
