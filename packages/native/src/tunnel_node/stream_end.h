#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "tunnel_node/target_side.h"
#include "tunnel_request/tunnel_stream.h"

namespace sheaf::tunnel_node {

class StreamEnds;

// A tunnel of a client with HTTP/2 or HTTP/1.1, whose stream JavaScript carries: its capsules with
// the socket to its target. What it has for the client waits here until it is taken, and until the
// client has room.
class StreamEnd final : private TargetSide::ClientSide {
 public:
  // Node and ends must outlive the end.
  struct Place {
    TunnelNode& node;
    StreamEnds& ends;
    std::shared_ptr<std::size_t> waiting_bytes;  // in the queues of the connection's tunnels
    std::uint32_t number;
  };

  static quic::Result<std::unique_ptr<StreamEnd>, io::SocketError> open(
      const Place& place, const TunnelSettings& settings, Time now);
  ~StreamEnd();

  std::uint32_t number() const { return place_.number; }
  const quic::Address& local_address() const { return side_.local_address(); }
  tunnel::Counts& counts() override { return stream_.counts(); }

  // The client sent bytes on its stream, or ended it, or has room again for what is sent to it.
  void receive(quic::Bytes bytes, Time now);
  void on_finished();
  void on_writable();
  // The client is gone.
  void abandon() { end(TunnelOver::kClient); }

  // Returns capsules for the client; none when it has no room. It has room again at `on_writable`.
  std::vector<std::uint8_t> take(Time now);
  // Why the tunnel is over, as a code of HTTP/3; nothing while it is open
  std::optional<std::uint64_t> over() const { return over_; }
  TunnelOver reason() const { return reason_; }

 private:
  friend class StreamEnds;

  StreamEnd(const Place& place, std::unique_ptr<io::ConnectedSocket> socket,
            const TunnelSettings& settings, Time now);
  // TargetSide::ClientSide
  void on_packet(const tunnel::Packet& packet, Time now) override { stream_.send(packet, now); }
  void on_burst_end() override;
  void on_unreachable() override { end(TunnelOver::kUnreachable); }
  void end(TunnelOver reason) override;
  void release_spare() override { stream_.release_spare(); }

  void finish(TunnelOver reason, http3::ErrorCode code);

  Place place_;
  tunnel_request::TunnelStream stream_;
  TargetSide side_;
  bool writable_ = true;
  bool listed_ = false;  // in `StreamEnds`, since it has something to tell
  TunnelOver reason_ = TunnelOver::kClient;
  std::optional<std::uint64_t> over_;
};

}  // namespace sheaf::tunnel_node
