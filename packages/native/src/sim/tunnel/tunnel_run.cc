#include "sim/tunnel/tunnel_run.h"

#include "sim/addresses.h"

namespace sheaf::quic {

namespace {

// Payloads of UDP: what fits into packets of 1500 bytes with IPv6, and what a tunnel leaves of it
constexpr std::uint16_t k_outer_payload = 1452;
constexpr std::uint16_t k_inner_payload = 1418;
constexpr Duration k_sample_interval = 10ms;
constexpr Duration k_pause = 500ms;  // between warming up and the download
// Windows that never limit a download
constexpr std::uint64_t k_window = std::uint64_t{64} << 20;

Address client_address() { return ipv4({10, 0, 0, 1}, 4000); }
Address tunnel_address() { return ipv4({10, 0, 1, 1}, 443); }
// Of one flow
Address own_client_address(std::size_t flow) {
  return ipv4({10, 0, 0, 1}, static_cast<std::uint16_t>(5000 + flow));
}
Address towards_server(std::size_t flow) {
  return ipv4({10, 0, 1, 2}, static_cast<std::uint16_t>(6000 + flow));
}
Address server_address(std::size_t flow) {
  return ipv4({10, 0, 2, static_cast<std::uint8_t>(1 + flow)}, 443);
}
// The tunnel's address that stands for a server without a tunnel
Address forwarding_address(std::size_t flow) {
  return ipv4({10, 0, 1, 1}, static_cast<std::uint16_t>(7000 + flow));
}
std::string server_name(std::size_t flow) { return "server" + std::to_string(flow); }
std::string client_name(std::size_t flow) { return "client" + std::to_string(flow); }

ConnectionConfig fixed_size(std::uint16_t payload) {
  ConnectionConfig config;
  config.initial_udp_payload_size = config.max_udp_payload_size = payload;
  config.discover_mtu = false;
  config.use_ecn = false;
  config.multipath = false;
  config.streams.initial_connection_window = config.streams.max_connection_window = k_window;
  config.streams.initial_stream_window = config.streams.max_stream_window = k_window;
  return config;
}

}  // namespace

TunnelRun::Flow::Flow(Simulation& simulation, const ConnectionConfig& config, std::uint64_t bytes)
    : client(Role::kClient, config, simulation.random(), simulation.now()),
      server(Role::kServer, config, simulation.random(), simulation.now()),
      download(client, server, bytes),
      server_host(server, delays, true),
      client_host(client, delays, false) {}

TunnelRun::TunnelRun(const TunnelSetting& setting, std::uint64_t seed)
    : setting_(setting), simulation_(seed) {
  if (setting_.trace) wait_for_offset();
  add_flows();
  if (setting_.mode == TunnelMode::kForward) {
    connect_forwarder();
  } else {
    connect_tunnel();
  }
}

// A trace begins with the simulation, so that a later start is another place in the trace.
void TunnelRun::wait_for_offset() {
  if (!setting_.random_offset) return;
  const auto period = static_cast<std::uint64_t>(setting_.trace->period().count());
  const Duration offset(static_cast<std::int64_t>(simulation_.random().below(period)));
  simulation_.run_for(offset);
}

ConnectionConfig TunnelRun::inner_config() const {
  ConnectionConfig config = fixed_size(k_inner_payload);
  config.congestion.algorithm = setting_.tecc ? CongestionAlgorithm::kOutsideRate : setting_.inner;
  config.congestion.seed = simulation_.seed();
  return config;
}

ConnectionConfig TunnelRun::outer_config() const {
  ConnectionConfig config = fixed_size(k_outer_payload);
  config.congestion.algorithm = setting_.outer;
  config.congestion.seed = simulation_.seed() + 1;
  config.streams.send_buffer = 64 << 10;
  return config;
}

LinkConfig TunnelRun::link_down() const {
  return {.queue_bytes = setting_.link_queue,
          .rate = setting_.trace ? 0 : setting_.rate,
          .trace = setting_.trace,
          .loss = setting_.loss_down,
          .delay = setting_.tunnel_round_trip / 2};
}

LinkConfig TunnelRun::link_up() const {
  return {.queue_bytes = setting_.link_queue,
          .rate = setting_.rate,
          .loss = setting_.loss_up,
          .delay = setting_.tunnel_round_trip / 2};
}

void TunnelRun::add_flows() {
  const LinkConfig fast{.queue_bytes = 4 << 20,
                        .rate = 125'000'000,
                        .delay = (setting_.server_round_trip - setting_.tunnel_round_trip) / 2};
  flows_.emplace_back(simulation_, inner_config(), setting_.bytes);
  if (setting_.warm_bytes > 0) {
    flows_.emplace_back(simulation_, inner_config(), setting_.warm_bytes);
  }
  for (std::size_t i = 0; i < flows_.size(); ++i) {
    if (setting_.tecc) {
      flows_[i].server_host.obey(flows_[i].reports.emplace(flows_[i].server, *setting_.tecc));
    }
    simulation_.add_host(server_name(i), flows_[i].server_host);
    simulation_.connect({"tunnel", towards_server(i)}, {server_name(i), server_address(i)}, fast);
  }
}

void TunnelRun::connect_tunnel() {
  const Time now = simulation_.now();
  // Queues of the client's own packets have no limit: they are small.
  const TunnelEndConfig of_client{.mode = setting_.mode, .streams = setting_.streams, .queue = {}};
  TunnelEndConfig of_server = of_client;
  of_server.queue = setting_.queue;
  client_end_.emplace(Role::kClient, outer_config(), of_client, simulation_.random(), now);
  server_end_.emplace(Role::kServer, outer_config(), of_server, simulation_.random(), now);
  std::vector<TunnelClientHost::Flow> at_client;
  std::vector<AddressPair> targets;
  for (std::size_t i = 0; i < flows_.size(); ++i) {
    const AddressPair seen{own_client_address(i), server_address(i)};
    at_client.push_back({.inner = &flows_[i].client, .path = seen, .delays = &flows_[i].delays});
    targets.push_back({towards_server(i), server_address(i)});
  }
  client_host_.emplace(*client_end_, std::move(at_client));
  server_host_.emplace(*server_end_, targets);
  if (setting_.tecc) server_host_->start_reports();
  simulation_.add_host("client", *client_host_);
  simulation_.add_host("tunnel", *server_host_);
  slow_ = &simulation_.connect({"client", client_address()}, {"tunnel", tunnel_address()},
                               link_up(), link_down());
  const AddressPair outer{client_address(), tunnel_address()};
  establish_both(client_end_->outer.connection, outer, server_end_->outer.connection,
                 reversed(outer), now);
  for (std::size_t i = 0; i < flows_.size(); ++i) {
    establish_both(flows_[i].client.connection, {own_client_address(i), server_address(i)},
                   flows_[i].server.connection, {server_address(i), towards_server(i)}, now);
  }
}

void TunnelRun::connect_forwarder() {
  const Time now = simulation_.now();
  std::vector<ForwarderHost::Rule> rules;
  for (std::size_t i = 0; i < flows_.size(); ++i) {
    rules.push_back({.client = {forwarding_address(i), own_client_address(i)},
                     .server = {towards_server(i), server_address(i)}});
  }
  forwarder_.emplace(rules);
  simulation_.add_host("tunnel", *forwarder_);
  for (std::size_t i = 0; i < flows_.size(); ++i) {
    simulation_.add_host(client_name(i), flows_[i].client_host);
    const NetworkNode near{client_name(i), own_client_address(i)};
    const NetworkNode far{"tunnel", forwarding_address(i)};
    if (i == 0) {
      slow_ = &simulation_.connect(near, far, link_up(), link_down());
    } else {
      simulation_.share(*slow_, near, far);
    }
    establish_both(flows_[i].client.connection, {own_client_address(i), forwarding_address(i)},
                   flows_[i].server.connection, {server_address(i), towards_server(i)}, now);
  }
}

// --- the run ------------------------------------------------------------------------------------

void TunnelRun::sample() {
  if (!sampling_) return;
  TunnelSample made{.when = simulation_.now(), .delivered = flows_[0].download.received()};
  if (server_end_) {
    made.queue_bytes = server_end_->queue().bytes();
    const PathStats outer = server_end_->outer.connection.paths().stats().front();
    made.outer_rate = outer.pacing_rate;
    made.outer_rtt = outer.smoothed_rtt;
  }
  const PathStats inner = flows_[0].server.connection.paths().stats().front();
  made.inner_rate = inner.pacing_rate;
  made.inner_rtt = inner.smoothed_rtt;
  samples_.push_back(made);
  simulation_.after(k_sample_interval, [this] { sample(); });
}

TunnelResult TunnelRun::run() {
  if (setting_.warm_bytes > 0) {
    Download& warming = flows_[1].download;
    warming.start(simulation_.now());
    simulation_.after({}, [] {});
    simulation_.run_until([&] { return warming.finished(); }, setting_.limit);
    simulation_.run_for(k_pause);
  }
  Download& download = flows_[0].download;
  sampling_ = true;
  std::uint64_t sent = 0;
  std::uint64_t lost = 0;
  if (server_end_) {
    const PathStats before = server_end_->outer.connection.paths().stats().front();
    sent = before.packets_sent;
    lost = before.packets_lost;
  }
  simulation_.after({}, [this] {
    flows_[0].download.start(simulation_.now());
    sample();
  });
  simulation_.run_until([&] { return download.finished(); }, setting_.limit);
  sampling_ = false;
  return result(sent, lost);
}

TunnelResult TunnelRun::result(std::uint64_t sent_before, std::uint64_t lost_before) {
  const Flow& flow = flows_[0];
  TunnelResult made{.digest = simulation_.digest(),
                    .finished = flow.download.finished(),
                    .intact = flow.download.intact(),
                    .completion = flow.download.duration(simulation_.now()),
                    .received = flow.download.received(),
                    .delays = flow.delays.delays()};
  const PathStats inner = flow.server.connection.paths().stats().front();
  made.inner_sent = inner.packets_sent;
  made.inner_lost = inner.packets_lost;
  if (server_end_) {
    const PathStats outer = server_end_->outer.connection.paths().stats().front();
    made.outer_sent = outer.packets_sent - sent_before;
    made.outer_lost = outer.packets_lost - lost_before;
    made.outer_repeats = server_end_->repeats();
    const InnerPacketCounts& counts = server_end_->queue().counts();
    made.queue_dropped = counts.full + counts.managed;
  }
  if (flow.reports) made.reports = flow.reports->reports();
  made.link_dropped = slow_->back.stats().queue_full;
  made.samples = std::move(samples_);
  return made;
}

}  // namespace sheaf::quic
