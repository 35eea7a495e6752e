#include "sim/tunnel/tunnel_run.h"

#include <algorithm>
#include <cmath>

namespace sheaf::quic {

namespace {

constexpr Duration k_sample_interval = 10ms;
// A packet of the inner connection, and the bytes of the stream in it
constexpr double k_packet_bytes = 1418;
constexpr double k_packet_content = 1380;
// After it the download begins, so that it meets the same place of a trace in all modes.
constexpr Duration k_warm_up = 8s;

std::vector<TunnelFlow> flows_of(const TunnelSetting& setting) {
  TunnelFlow flow{.server_round_trip = setting.server_round_trip,
                  .tunnel_round_trip = setting.tunnel_round_trip,
                  .bytes = setting.bytes};
  std::vector<TunnelFlow> flows{flow};
  flow.bytes = setting.warm_bytes;
  if (setting.warm_bytes > 0) flows.push_back(flow);
  return flows;
}

Duration offset_of(const TunnelSetting& setting, std::uint64_t seed) {
  if (!setting.world.trace) return {};
  if (setting.trace_offset) return *setting.trace_offset;
  SeededRandom random(seed);
  return Duration(static_cast<std::int64_t>(
      random.below(static_cast<std::uint64_t>(setting.world.trace->period().count()))));
}

}  // namespace

TunnelRun::TunnelRun(const TunnelSetting& setting, std::uint64_t seed)
    : setting_(setting), world_(setting.world, flows_of(setting), seed, offset_of(setting, seed)) {}

void TunnelRun::sample() {
  if (!sampling_) return;
  TunnelWorld::Flow& flow = world_.flows[0];
  TunnelSample made{.when = world_.simulation.now(), .delivered = flow.download.received()};
  if (const TunnelEnd* end = world_.server_end(0)) {
    made.queue_bytes = end->queues().bytes();
    const PathStats outer = end->path();
    made.outer_rate = outer.pacing_rate;
    made.outer_rtt = outer.smoothed_rtt;
  }
  const PathStats inner = flow.server.connection.paths().stats().front();
  made.inner_rate = inner.pacing_rate;
  made.inner_rtt = inner.smoothed_rtt;
  samples_.push_back(made);
  world_.simulation.after(k_sample_interval, [this] { sample(); });
}

TunnelResult TunnelRun::run() {
  Simulation& simulation = world_.simulation;
  if (setting_.warm_bytes > 0) {
    simulation.after({}, [this] { world_.start(1); });
    simulation.run_for(k_warm_up);
  }
  note_tunnel(before_);
  const Time start = simulation.now();
  const std::uint64_t link_before = world_.slow_link().sent;
  const Download& download = world_.flows[0].download;
  sampling_ = true;
  simulation.after({}, [this] {
    world_.start(0);
    sample();
  });
  simulation.run_until([&] { return download.finished(); }, setting_.limit);
  sampling_ = false;
  TunnelResult made = result();
  made.bound = bound(start);
  made.link_sent = world_.slow_link().sent - link_before;
  made.samples = std::move(samples_);
  return made;
}

Duration TunnelRun::bound(Time start) const {
  const Duration last_way = setting_.tunnel_round_trip / 2;
  const TunnelWorldSetting& world = setting_.world;
  const double bytes = static_cast<double>(setting_.bytes) * k_packet_bytes / k_packet_content /
                       (1 - world.loss_down);
  if (!world.trace) {
    const double seconds = bytes / static_cast<double>(world.rate);
    return setting_.server_round_trip + Duration(static_cast<std::int64_t>(seconds * 1e9));
  }
  CapacityCursor cursor;
  Time sent = start + setting_.server_round_trip - last_way;
  for (double left = bytes; left > 0; left -= k_packet_bytes) {
    const double packet = std::min(left, k_packet_bytes);
    sent = cursor.transmit(*world.trace, static_cast<std::size_t>(std::ceil(packet)), sent);
  }
  return sent + last_way - start;
}

// Notes what the tunnel has done so far.
void TunnelRun::note_tunnel(TunnelResult& out) const {
  out.link_dropped = world_.slow_link().queue_full;
  const TunnelEnd* end = world_.server_end(0);
  if (!end) return;
  const PathStats outer = end->path();
  out.outer_sent = outer.packets_sent;
  out.outer_lost = outer.packets_lost;
  out.outer_repeats = end->repeats();
  out.outer_copies = end->copies();
  const InnerPacketCounts counts = end->queues().counts();
  out.queue_dropped = counts.full + counts.managed;
}

TunnelResult TunnelRun::result() const {
  const TunnelWorld::Flow& flow = world_.flows[0];
  TunnelResult made{.digest = world_.simulation.digest(),
                    .finished = flow.download.finished(),
                    .intact = flow.download.intact(),
                    .completion = flow.download.duration(world_.simulation.now()),
                    .received = flow.download.received(),
                    .delays = flow.delays.delays()};
  const PathStats inner = flow.server.connection.paths().stats().front();
  made.inner_sent = inner.packets_sent;
  made.inner_lost = inner.packets_lost;
  note_tunnel(made);
  made.outer_sent -= before_.outer_sent;
  made.outer_lost -= before_.outer_lost;
  made.outer_repeats -= before_.outer_repeats;
  made.outer_copies -= before_.outer_copies;
  made.queue_dropped -= before_.queue_dropped;
  made.link_dropped -= before_.link_dropped;
  if (flow.reports) made.reports = flow.reports->reports();
  return made;
}

}  // namespace sheaf::quic
