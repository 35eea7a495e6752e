#pragma once

#include <optional>
#include <vector>

#include "sim/tunnel/tunnel_world.h"

namespace sheaf::quic {

// A download through a tunnel
struct TunnelSetting {
  TunnelWorldSetting world{};
  std::uint64_t bytes = 1'000'000;
  Duration server_round_trip = 140ms;      // client to server, through the tunnel
  Duration tunnel_round_trip = 40ms;       // client to the tunnel's server; not longer
  std::optional<Duration> trace_offset{};  // default: any, with the seed
  std::uint64_t warm_bytes = 0;            // that another flow of the tunnel carries before
  Duration limit = 300s;
};

// The tunnel's server at one time
struct TunnelSample {
  Time when{};
  std::size_t queue_bytes = 0;
  std::uint64_t outer_rate = 0;  // at which it is paced, in bytes per second
  std::uint64_t inner_rate = 0;  // the same of the inner server
  Duration outer_rtt{};          // smoothed
  Duration inner_rtt{};
  std::uint64_t delivered = 0;  // bytes of the download that arrived
};

struct TunnelResult {
  std::uint64_t digest = 0;
  bool finished = false;
  bool intact = false;
  Duration completion{};
  std::uint64_t received = 0;
  // What nothing can be faster than: the way there and back, and the bytes with what is lost behind
  // the queue, in packets of the inner connection
  Duration bound{};
  std::vector<Duration> delays{};       // of packets of the inner server, those of the download
  std::uint64_t inner_sent = 0;         // packets of the inner server
  std::uint64_t inner_lost = 0;         // that it declared lost
  std::uint64_t outer_sent = 0;         // packets of the tunnel's server
  std::uint64_t outer_lost = 0;         // that it declared lost
  std::uint64_t outer_repeats = 0;      // payloads that it sent again
  std::uint64_t outer_copies = 0;       // and while it was idle
  std::uint64_t queue_dropped = 0;      // at the tunnel
  std::uint64_t link_dropped = 0;       // by the queue of the slow link
  std::uint64_t link_sent = 0;          // packets that came to this queue
  std::uint64_t reports = 0;            // that reached the server
  std::vector<TunnelSample> samples{};  // every 10 ms of the download
};

class TunnelRun {
 public:
  TunnelRun(const TunnelSetting& setting, std::uint64_t seed);
  TunnelResult run();

 private:
  void sample();
  void note_tunnel(TunnelResult& out) const;
  TunnelResult result() const;
  Duration bound(Time start) const;

  TunnelSetting setting_;
  TunnelWorld world_;
  bool sampling_ = false;
  TunnelResult before_;  // what the tunnel did before the download begins
  std::vector<TunnelSample> samples_;
};

}  // namespace sheaf::quic
