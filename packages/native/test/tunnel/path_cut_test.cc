#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "sim/addresses.h"
#include "sim/tunnel/tunnel_end.h"

namespace sheaf::quic {
namespace {

constexpr std::size_t k_tunnelled_bytes = 1000;
constexpr Duration k_packet_interval = 2ms;  // 4 Mbit/s
const LinkConfig k_short_link{.rate = 2'500'000, .delay = 15ms};
const LinkConfig k_long_link{.rate = 2'500'000, .delay = 25ms};

class EndHost final : public Host {
 public:
  explicit EndHost(TunnelEnd& end) : end_(end) {}
  void receive(const Datagram& datagram, Time now) override { end_.outer.receive(datagram, now); }
  void poll_transmit(TransmitBatch& batch, Time now) override { end_.poll_transmit(batch, now); }
  Time next_timeout() const override { return end_.next_timeout(); }
  void on_timeout(Time now) override { end_.on_timeout(now); }

 private:
  TunnelEnd& end_;
};

ConnectionConfig outer_config() {
  ConnectionConfig config;
  config.keep_alive = 10s;
  return config;
}

AddressPair addresses(std::uint8_t interface) {
  return {ipv4({10, 0, interface, 1}, 50'000), ipv4({10, 1, 0, 1}, 443)};
}

// RFC 9002 §6.2.1, of the path at this moment
Duration probe_timeout(const PathStats& path, Duration max_ack_delay) {
  return path.smoothed_rtt + std::max(4 * path.rtt_variance, Duration(1ms)) + max_ack_delay;
}

// A tunnel over two paths whose server gets a packet for the client every other millisecond
class TwoPathTunnel {
 public:
  explicit TwoPathTunnel(std::uint64_t seed)
      : trace_(__FILE__, __LINE__, "seed " + std::to_string(seed)),
        simulation_(seed),
        client_(Role::kClient, outer_config(), {.mode = TunnelMode::kRetransmit, .queue = {}},
                simulation_.random(), simulation_.now()),
        server_(Role::kServer, outer_config(), {.mode = TunnelMode::kRetransmit, .queue = {}},
                simulation_.random(), simulation_.now()),
        client_host_(client_),
        server_host_(server_) {
    simulation_.add_host("client", client_host_);
    simulation_.add_host("server", server_host_);
    for (const auto& [interface, link] : {std::pair{0, k_short_link}, std::pair{1, k_long_link}}) {
      const AddressPair path = addresses(static_cast<std::uint8_t>(interface));
      links_.push_back(&simulation_.connect({"client", path.local}, {"server", path.remote}, link));
    }
    establish_both(client_.outer.connection, addresses(0), server_.outer.connection,
                   reversed(addresses(0)), simulation_.now());
    client_.deliver = [this](std::size_t, MutableBytes packet, Time now) { arrive(packet, now); };
  }

  bool open_second_path() {
    simulation_.run_for(200ms);
    if (!client_.outer.connection.paths().open(addresses(1), simulation_.now())) return false;
    return simulation_.run_until(
               [this] {
                 const auto paths = server_.outer.connection.paths().stats();
                 return paths.size() == 2 && paths[0].validated && paths[1].validated;
               },
               5s) == Simulation::Outcome::kReached;
  }
  void start() {
    simulation_.after({}, [this] { send(); });
    simulation_.run_for(2s);
    longest_stall_ = {};
  }
  void run_for(Duration duration) { simulation_.run_for(duration); }
  // Cuts the path in both directions, or repairs it.
  void set_down(std::size_t path, bool down) {
    for (Link* link : {&links_[path]->there, &links_[path]->back}) {
      LinkConfig config = link->config();
      config.down = down;
      link->change_at(simulation_.now(), config);
    }
  }
  // Stops sending, and waits for all that is in flight.
  void finish() {
    sending_ = false;
    simulation_.run_for(2s);
  }
  std::vector<PathStats> paths() const { return server_.outer.connection.paths().stats(); }
  Duration longest_stall() const { return longest_stall_; }
  std::uint32_t sent() const { return sent_; }
  std::size_t arrived() const { return arrived_.size(); }

 private:
  void send() {
    if (!sending_) return;
    std::vector<std::uint8_t> packet(k_tunnelled_bytes);
    std::memcpy(packet.data(), &sent_, sizeof sent_);
    ++sent_;
    server_.send(0, packet, simulation_.now());
    simulation_.after(k_packet_interval, [this] { send(); });
  }
  void arrive(Bytes packet, Time now) {
    std::uint32_t number = 0;
    ASSERT_EQ(packet.size(), k_tunnelled_bytes);
    std::memcpy(&number, packet.data(), sizeof number);
    arrived_.insert(number);
    longest_stall_ = std::max(longest_stall_, now - std::exchange(last_arrival_, now));
  }

  ::testing::ScopedTrace trace_;
  Simulation simulation_;
  TunnelEnd client_;
  TunnelEnd server_;
  EndHost client_host_;
  EndHost server_host_;
  std::vector<NetworkPath*> links_;
  std::set<std::uint32_t> arrived_;
  Time last_arrival_{};
  Duration longest_stall_{};
  std::uint32_t sent_ = 0;
  bool sending_ = true;
};

// A tunnel with two paths goes on over the other one within two probe timeouts and a round trip,
// and nothing that it took is lost. So connections inside see a late packet at most.
TEST(PathCut, TheTunnelGoesOnWithinTwoProbeTimeoutsAndARoundTrip) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    for (const std::size_t cut : {std::size_t{0}, std::size_t{1}}) {
      TwoPathTunnel tunnel(seed);
      ASSERT_TRUE(tunnel.open_second_path());
      tunnel.start();
      // Cuts come at any time between two packets.
      tunnel.run_for(std::chrono::microseconds(370 * seed));
      const std::vector<PathStats> before = tunnel.paths();
      tunnel.set_down(cut, true);
      tunnel.run_for(3s);
      const Duration bound =
          2 * probe_timeout(before[cut], ConnectionConfig{}.max_ack_delay) + before[1].smoothed_rtt;
      EXPECT_LE(tunnel.longest_stall(), bound) << "path " << cut;
      tunnel.finish();
      EXPECT_EQ(tunnel.arrived(), tunnel.sent());
    }
  }
}

// The path comes back, and its return disturbs nothing.
TEST(PathCut, TheTunnelUsesAPathThatComesBack) {
  TwoPathTunnel tunnel(7);
  ASSERT_TRUE(tunnel.open_second_path());
  tunnel.start();
  tunnel.set_down(0, true);
  tunnel.run_for(3s);
  tunnel.set_down(0, false);
  const std::uint64_t before = tunnel.paths()[0].bytes_sent;
  tunnel.run_for(10s);
  EXPECT_GT(tunnel.paths()[0].bytes_sent, before + 1'000'000);
  tunnel.finish();
  EXPECT_EQ(tunnel.arrived(), tunnel.sent());
}

}  // namespace
}  // namespace sheaf::quic
