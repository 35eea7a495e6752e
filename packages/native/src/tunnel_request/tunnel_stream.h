#pragma once

#include <optional>
#include <vector>

#include "http3/capsule.h"
#include "tunnel/counts.h"
#include "tunnel/packet_queue.h"
#include "tunnel_request/client_datagram.h"
#include "util/codel_law.h"

namespace sheaf::tunnel_request {

using quic::Time;

// The proxy's side of a request for UDP proxying on a stream that somebody else carries, such as
// one of HTTP/2 (RFC 9298 §3.4) or a connection of HTTP/1.1 that was upgraded (§3.2): capsules both
// ways (RFC 9297 §3). Packets of the target wait here for the stream. Does no I/O.
class TunnelStream {
 public:
  // Bytes of capsules that `take` appends, if not one packet is longer. A stream has as many ahead
  // of it, for which nothing can be done any more.
  static constexpr std::size_t k_batch = 16 << 10;

  // `queue_limit` is in bytes.
  TunnelStream(tunnel::RoomShare share, std::size_t queue_limit, PayloadContexts contexts)
      : contexts_(std::move(contexts)), capsules_(capsule_rule), queue_(queue_limit, share) {}

  tunnel::Counts& counts() { return counts_; }

  // Takes bytes of the client, whatever pieces they come in, and calls `send(packet)` for each
  // one. Its payload is valid during the call. Returns the error that ends the request.
  template <typename Send>
  std::optional<http3::ErrorCode> receive(Bytes bytes, Send&& send) {
    const std::uint32_t dropped = capsules_.dropped();
    std::optional<http3::ErrorCode> fault;
    while (!bytes.empty() && !fault) {
      const auto capsule = capsules_.next(bytes);
      if (!capsule) {
        fault = capsule.error().code;
      } else if (*capsule) {
        fault = pass((*capsule)->value, send);
      }
    }
    counts_.drop(tunnel::DropReason::kTargetTooLarge, capsules_.dropped() - dropped);
    return fault;
  }
  // Whether the client may end here (RFC 9297 §3.3)
  bool at_boundary() const { return capsules_.at_boundary(); }

  // A packet of the target came. It waits, or is dropped.
  void send(tunnel::Packet packet, Time now);
  bool waits() const { return !queue_.empty(); }
  // Appends capsules of packets that waited, and counts them as sent. Marks or drops those that
  // have waited for too long (RFC 8289).
  void take(std::vector<std::uint8_t>& out, Time now);

  // Frees memory that only a busy tunnel needs.
  void release_spare();

 private:
  template <typename Send>
  std::optional<http3::ErrorCode> pass(Bytes datagram, Send&& send) {
    const ClientDatagram read = read_client_datagram(datagram, contexts_, false);
    if (read.kind == ClientDatagram::Kind::kMalformed) return http3::ErrorCode::kDatagramError;
    if (read.kind == ClientDatagram::Kind::kPayload) {
      send(tunnel::Packet{read.payload, read.ecn});
    } else {
      counts_.drop(tunnel::DropReason::kUnknownContext);
    }
    return std::nullopt;
  }

  PayloadContexts contexts_;
  http3::CapsuleReader capsules_;
  tunnel::PacketQueue queue_;
  quic::CoDelLaw law_;
  tunnel::Counts counts_;
};

}  // namespace sheaf::tunnel_request
