#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "sim/simulation.h"
#include "sim/tunnel/download.h"
#include "sim/tunnel/tunnel_hosts.h"

namespace sheaf::quic {

// A download through a tunnel. The client reaches the tunnel's server over one link, which may be
// slow and lossy, and that one reaches the server over another, which is neither.
struct TunnelSetting {
  TunnelMode mode = TunnelMode::kDatagram;
  std::size_t streams = 4;  // of a stream group
  std::uint64_t bytes = 1'000'000;
  Duration server_round_trip = 140ms;  // client to server, through the tunnel
  Duration tunnel_round_trip = 40ms;   // client to the tunnel's server; not longer
  double loss_down = 0;                // shares of the packets between client and tunnel
  double loss_up = 0;
  std::uint64_t rate = 1'250'000;                          // bytes per second, each way
  std::shared_ptr<const CapacityTrace> trace{};            // in place of `rate` towards the client
  bool random_offset = true;                               // the trace begins anywhere
  std::size_t link_queue = 256 << 10;                      // bytes, before the slow link
  CongestionAlgorithm outer = CongestionAlgorithm::kNone;  // of the tunnel
  CongestionAlgorithm inner = CongestionAlgorithm::kBbrV1;
  InnerPacketQueueConfig queue{};  // at the tunnel's server
  // The servers obey reports of the tunnel in place of `inner`.
  std::optional<TeccConfig> tecc{};
  std::uint64_t warm_bytes = 0;  // that another flow of the tunnel carries before
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
  std::vector<Duration> delays{};       // of packets of the inner server, those of the download
  std::uint64_t inner_sent = 0;         // packets of the inner server
  std::uint64_t inner_lost = 0;         // that it declared lost
  std::uint64_t outer_sent = 0;         // packets of the tunnel's server
  std::uint64_t outer_lost = 0;         // that it declared lost
  std::uint64_t outer_repeats = 0;      // payloads that it sent again
  std::uint64_t queue_dropped = 0;      // at the tunnel
  std::uint64_t link_dropped = 0;       // by the queue of the slow link
  std::uint64_t reports = 0;            // that reached the server
  std::vector<TunnelSample> samples{};  // every 10 ms of the download
};

class TunnelRun {
 public:
  TunnelRun(const TunnelSetting& setting, std::uint64_t seed);
  TunnelResult run();

 private:
  // An inner connection with its server
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

  ConnectionConfig inner_config() const;
  ConnectionConfig outer_config() const;
  LinkConfig link_down() const;
  LinkConfig link_up() const;
  void add_flows();
  void connect_tunnel();
  void connect_forwarder();
  void wait_for_offset();
  void sample();
  TunnelResult result(std::uint64_t sent_before, std::uint64_t lost_before);

  TunnelSetting setting_;
  Simulation simulation_;
  std::deque<Flow> flows_;  // the measured one is the first
  std::optional<TunnelEnd> client_end_;
  std::optional<TunnelEnd> server_end_;
  std::optional<TunnelClientHost> client_host_;
  std::optional<TunnelServerHost> server_host_;
  std::optional<ForwarderHost> forwarder_;
  NetworkPath* slow_ = nullptr;
  bool sampling_ = false;
  std::vector<TunnelSample> samples_;
};

}  // namespace sheaf::quic
