#pragma once

#include <cstdint>
#include <memory>

#include "io/batch_sender.h"
#include "io/socket_calls.h"
#include "util/result.h"

namespace sheaf::io {

// How a node may send from an address at which another node receives.
enum class SendWay : std::uint8_t {
  // The address belongs to another host (IP_TRANSPARENT). Needs CAP_NET_RAW or CAP_NET_ADMIN.
  kTransparent,
  // The address is one of this host, too: on `lo`, or because both nodes run here. Needs no right.
  // A socket that receives at the same address and port must share it (SO_REUSEPORT) and belong to
  // the same user.
  kOwnAddress,
};

// Owns a UDP socket that sends from one address, and never takes a packet from the socket that
// receives there, also after that one is closed. Never waits.
class SendOnlySocket {
 public:
  // Opens a socket that sends from `from`, which names an IP address and a port. The messages of
  // errors say what to do. While this call runs, the kernel may give this socket packets of another
  // one that shares the port; they count as lost.
  static quic::Result<std::unique_ptr<SendOnlySocket>, SocketError> open(const quic::Address& from,
                                                                         SendWay way);
  // Takes over a descriptor of the receiving socket, which another process passed or this one has
  // duplicated. Its options stay as they are, besides that nothing fragments its datagrams. When
  // this fails, the descriptor stays the caller's.
  static quic::Result<std::unique_ptr<SendOnlySocket>, SocketError> adopt(
      int descriptor, const quic::Address& from);
  ~SendOnlySocket();
  SendOnlySocket(const SendOnlySocket&) = delete;
  SendOnlySocket& operator=(const SendOnlySocket&) = delete;

  const quic::Address& from() const { return from_; }
  int descriptor() const { return descriptor_; }
  // Sends a batch to its remote address, whatever local address it names. Datagrams that are
  // blocked are lost: what has a time to leave is worth nothing later.
  SendOutcome send(const quic::TransmitBatch& batch);

 private:
  SendOnlySocket(int descriptor, bool ipv6, const quic::Address& from);

  int descriptor_;
  quic::Address from_;
  BatchSender sender_;
};

}  // namespace sheaf::io
