#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "io/connected_socket.h"
#include "io/poll_group.h"
#include "io/udp_socket.h"
#include "tunnel/counts.h"
#include "tunnel_node/program_port.h"
#include "util/datagram_ring.h"

namespace sheaf::tunnel_node {

// A local port where one program names the target of each packet in front of it, as with SOCKS 5
// (UDP ASSOCIATE, RFC 1928 §7). Each target gets a tunnel of its own, whose packets come back with
// the same header. The address that sends first is that of the program.
class RelayPort final : public ProgramPort, private io::PollGroup::Member {
 public:
  // Targets at one time, and those of them that wait for a tunnel. Packets to others are dropped.
  static constexpr std::size_t k_max_targets = 256;
  static constexpr std::size_t k_max_waiting_targets = 32;

  // `program`: its IP address, and its port; 0 for any. Port 0 of `local` takes a free one.
  static quic::Result<std::unique_ptr<RelayPort>, io::SocketError> open(
      const Place& place, const quic::Address& local, const quic::Address& program);
  // Ends its tunnels.
  ~RelayPort() override;

  // ProgramPort; its flows are targets.
  const quic::Address& address() const override { return listening_->local_address(); }
  std::vector<NewFlow> take_new() override { return std::exchange(new_, {}); }
  quic::Result<std::unique_ptr<TunnelEnd>, io::SocketError> open(FlowId target,
                                                                 const TunnelEnd::Place& place,
                                                                 TunnelSettings settings,
                                                                 Time now) override;
  void give(FlowId target, TunnelEnd& tunnel, Time now) override;
  void refuse(FlowId target) override;

 private:
  struct Flow {
    FlowId id = 0;
    std::optional<quic::StreamId> stream;       // of its tunnel
    std::optional<quic::DatagramRing> waiting;  // until it has one
  };
  // Headers are looked up without a copy.
  struct HeaderHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view header) const {
      return std::hash<std::string_view>()(header);
    }
  };
  using Flows = std::unordered_map<std::string, Flow, HeaderHash, std::equal_to<>>;

  RelayPort(const Place& place, std::unique_ptr<io::UdpSocket> listening,
            const quic::Address& program)
      : place_(place), listening_(std::move(listening)), program_(program) {}
  // io::PollGroup::Member
  void on_readable() override;
  // Finds the program among those that send here.
  void read_listening(Time now);
  void read_connected(Time now);
  void connect(const quic::Address& program);
  void take(const tunnel::Packet& packet, Time now);
  // Returns the tunnel of a flow, unless it is over.
  TunnelEnd* tunnel_of(const Flow& flow) const;
  Flow* find_or_add(std::string_view header);
  Flows::iterator find(FlowId target);
  void drop(tunnel::DropReason reason) { place_.node.past_.drop(reason); }

  Place place_;
  std::unique_ptr<io::UdpSocket> listening_;
  // Null before the program sends. Its tunnels send by it, too.
  std::shared_ptr<io::ConnectedSocket> connected_;
  quic::Address program_;
  FlowId next_ = 0;
  Flows flows_;
  std::size_t waiting_ = 0;  // flows that wait for a tunnel
  std::vector<NewFlow> new_;
  std::vector<quic::StreamId> touched_;  // tunnels that got packets in this turn
};

}  // namespace sheaf::tunnel_node
