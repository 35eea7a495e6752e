#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "connection/transmit.h"
#include "io/batch_sender.h"
#include "io/socket_calls.h"
#include "util/address.h"
#include "util/result.h"

namespace sheaf::io {

struct UdpSocketOptions {
  bool reuse_port = false;  // lets several threads share the port
  // Receives from a group of which others of this host may be members, too: each gets a copy. Hears
  // no groups but those that this socket joins (io/group_membership.h).
  bool group_member = false;
  // Lets the network fragment what is sent. QUIC forbids it (RFC 9000 §14).
  bool fragments = false;
  bool segmentation_offload = true;  // uses UDP_SEGMENT and UDP_GRO where the kernel has them
  // Sends what is due each time that so many datagrams have come, also within a batch; 0: after the
  // batch. A client then acknowledges as often as its connection says.
  std::size_t datagrams_per_flush = 0;
  // Drops larger datagrams, as a network does whose packets are smaller than those of loopback.
  std::size_t largest_datagram = SIZE_MAX;
};

// Owns a non-blocking UDP socket. It sends a batch in one system call and receives many datagrams
// in one. Each datagram carries its ECN mark and its local address. Nothing is allocated after
// `open`.
class UdpSocket {
 public:
  // Opens a socket. An IPv6 socket bound to the unspecified address serves IPv4 as well.
  static quic::Result<std::unique_ptr<UdpSocket>, SocketError> open(
      const quic::Address& local, const UdpSocketOptions& options);
  // Takes over a socket that is bound to `local`, and closes it in the end.
  static std::unique_ptr<UdpSocket> adopt(int descriptor, const quic::Address& local,
                                          const UdpSocketOptions& options);
  ~UdpSocket();
  UdpSocket(const UdpSocket&) = delete;
  UdpSocket& operator=(const UdpSocket&) = delete;

  // Clears and returns the error (errno) that an earlier call or an ICMP message left.
  int take_error();
  // Lets sockets of this user that are opened later have the same address.
  void share_address() const;
  int descriptor() const { return descriptor_; }
  const quic::Address& local_address() const { return local_; }

  // Sends a batch. When it is blocked, call again with the same batch when the socket is writable.
  // Datagrams that were sent are not sent again.
  SendOutcome send(const quic::TransmitBatch& batch);

  // Receives the datagrams that one system call returns, and passes each to `sink(const
  // quic::Datagram&)`. Its bytes are valid during the call. Returns the number of datagrams.
  template <typename Sink>
  std::size_t receive(Sink&& sink) {
    const std::size_t messages = receive_messages();
    drained_ = messages < received_.size();
    std::size_t datagrams = 0;
    for (std::size_t i = 0; i < messages; ++i) {
      const Received& message = received_[i];
      for (std::size_t offset = 0; offset < message.bytes.size(); offset += message.segment_size) {
        const std::size_t size = std::min(message.segment_size, message.bytes.size() - offset);
        sink(quic::Datagram{message.bytes.subspan(offset, size), message.path, message.ecn});
        ++datagrams;
      }
    }
    return datagrams;
  }

  // Whether the last call of `receive` left none.
  bool drained() const { return drained_; }

 private:
  struct Received {
    quic::MutableBytes bytes;
    std::size_t segment_size = 1;
    quic::AddressPair path;
    quic::Ecn ecn = quic::Ecn::kNotEct;
  };
  struct Buffers;

  UdpSocket(int descriptor, bool ipv6, const UdpSocketOptions& options);
  void set_options(bool ipv6, const UdpSocketOptions& options);
  void set_group_options(bool ipv6);
  std::size_t receive_messages();
  void take(std::size_t index);

  int descriptor_;
  BatchSender sender_;
  std::size_t resume_offset_ = 0;  // position in the batch that was blocked
  bool drained_ = true;
  quic::Address local_;
  std::vector<Received> received_;
  std::unique_ptr<Buffers> buffers_;
};

}  // namespace sheaf::io
