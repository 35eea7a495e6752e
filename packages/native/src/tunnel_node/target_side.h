#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "io/connected_socket.h"
#include "io/poll_group.h"
#include "tunnel/counts.h"
#include "tunnel/first_response.h"
#include "tunnel/mode.h"
#include "tunnel/packet.h"
#include "tunnel/rate_budget.h"
#include "tunnel_node/tunnel_node.h"
#include "tunnel_request/payload_contexts.h"

namespace sheaf::tunnel_node {

struct TunnelSettings {
  quic::Address target;
  // Where the socket is bound: a local port, of which the target is a peer. The system chooses
  // otherwise.
  std::optional<quic::Address> local;
  Duration idle = std::chrono::minutes(2);  // RFC 9298 §3.1: not less
  std::size_t queue_limit = 256 << 10;      // bytes
  // How packets travel to a client with HTTP/3: kStream, kDatagram or kRetransmit
  quic::TunnelMode mode = quic::TunnelMode::kDatagram;
  quic::TunnelReports reports = quic::TunnelReports::kNone;
  tunnel_request::PayloadContexts contexts{};
  // All tunnels with the same name share a rate in bytes per second. An empty name: no limit.
  std::string rate_name;
  double rate = 0;
};

// Where the packets of a tunnel go to and come from
struct Outlet {
  explicit Outlet(std::unique_ptr<io::ConnectedSocket> made) : socket(std::move(made)) {}
  // The socket is that of a relay, which takes what comes and gives each tunnel its part. The
  // header stands in front of each packet.
  Outlet(std::shared_ptr<io::ConnectedSocket> shared, std::vector<std::uint8_t> before)
      : socket(std::move(shared)), header(std::move(before)) {}

  // Whether the tunnel hears the socket by itself
  bool own() const { return header.empty(); }

  std::shared_ptr<io::ConnectedSocket> socket;
  std::vector<std::uint8_t> header;
};

// Why a tunnel is over. Names are in lib/tunnel_types.ts, in the same order.
enum class TunnelOver : std::uint8_t {
  kClient,       // the client ended it, or broke a rule
  kConnection,   // with the connection
  kIdle,         // no packet came for as long as the limit permits
  kUnreachable,  // the network says that the target cannot be reached
  kClosed,       // the local port that it belongs to was closed
};

// The side of a tunnel that faces its target: the socket, the rate of its user, and the idle limit.
class TargetSide final : private io::PollGroup::Member {
 public:
  // The side that faces the client, whatever its version of HTTP
  class ClientSide {
   public:
    virtual tunnel::Counts& counts() = 0;
    // A packet of the target came.
    virtual void on_packet(const tunnel::Packet& packet, Time now) = 0;
    // Follows the packets that came together.
    virtual void on_burst_end() = 0;
    // A packet could not be sent since the network says that the target cannot be reached. Another
    // tunnel may be calling, so the tunnel ends in its next turn.
    virtual void on_unreachable() = 0;
    // Ends the tunnel, unless it is over. May destroy other tunnels, but not this one.
    virtual void end(TunnelOver reason) = 0;
    // The tunnel has been idle for a while.
    virtual void release_spare() = 0;

   protected:
    ~ClientSide() = default;
  };

  // Both must outlive this object.
  TargetSide(TunnelNode& node, ClientSide& client, Outlet outlet, const TunnelSettings& settings,
             Time now);
  ~TargetSide() { leave(); }
  TargetSide(const TargetSide&) = delete;
  TargetSide& operator=(const TargetSide&) = delete;

  // Begins to hear the target, unless too many tunnels are open.
  quic::Status<io::SocketError> begin() { return node_.add(*this); }
  // Of an open tunnel
  const quic::Address& local_address() const { return outlet_.socket->local_address(); }
  // Gathers a packet of the client. Drops it above the rate of the tunnel's user.
  void send(const tunnel::Packet& packet);
  // Sends what tunnels have gathered.
  void flush() { node_.flush(); }
  // The client was active.
  void note_activity(Time now) { active_at_ = now; }
  // A packet came from the target by a socket that this side does not hear.
  void note_packet(Time now) {
    active_at_ = now;
    measure_response(tunnel::FirstResponse::Direction::kToClient, now);
  }
  // Hears the target no more.
  void close();
  // The node knows this tunnel no more. For the destructor of the client's side, whose counts it
  // keeps.
  void leave();

 private:
  friend class TunnelNode;

  // io::PollGroup::Member
  void on_readable() override;
  void receive(const tunnel::Packet& packet, Time now);
  void on_sent(const io::ConnectedSocket::Sent& sent);
  void check_idle(Time now);
  void measure_response(tunnel::FirstResponse::Direction direction, Time now);

  TunnelNode& node_;
  ClientSide& client_;
  Outlet outlet_;                               // without a socket once the tunnel is over
  std::shared_ptr<tunnel::RateBudget> budget_;  // null without a limit
  Duration idle_;
  Time active_at_;         // when a packet came last, in either direction
  std::size_t index_ = 0;  // in the node
  tunnel::FirstResponse first_response_;
  bool listening_ = false;
};

}  // namespace sheaf::tunnel_node
