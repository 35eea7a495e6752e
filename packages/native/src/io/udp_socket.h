#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "connection/transmit.h"
#include "util/address.h"
#include "util/result.h"

namespace sheaf::io {

// A failed system call in words that name the address, with errno's name ("EADDRINUSE").
struct SocketError {
  int number = 0;
  std::string message;
};

struct UdpSocketOptions {
  bool reuse_port = false;           // several threads share the port
  bool segmentation_offload = true;  // UDP_SEGMENT and UDP_GRO, where the kernel has them
};

// Non-blocking UDP socket. Sends a batch in one call, receives many datagrams in one call, carries
// ECN marks and the local address of each datagram. Nothing is allocated after `open`.
class UdpSocket {
 public:
  // An IPv6 socket bound to the unspecified address serves IPv4 as well.
  static quic::Result<std::unique_ptr<UdpSocket>, SocketError> open(
      const quic::Address& local, const UdpSocketOptions& options);
  ~UdpSocket();
  UdpSocket(const UdpSocket&) = delete;
  UdpSocket& operator=(const UdpSocket&) = delete;

  // Clears what an earlier call or an ICMP message left behind, and returns it (errno).
  int take_error();
  int descriptor() const { return descriptor_; }
  const quic::Address& local_address() const { return local_; }

  enum class SendOutcome : std::uint8_t {
    kSent,
    kBlocked,  // the socket's buffer is full: call again with the same batch when it is writable;
               // datagrams that have left are not sent again
    kDropped,  // the network refused it (no route, too large): as good as lost on the way
  };
  SendOutcome send(const quic::TransmitBatch& batch);

  // Receives what one system call gives; `sink(const quic::Datagram&)` sees each datagram, whose
  // bytes are valid during the call. Returns how many; 0 = nothing left.
  template <typename Sink>
  std::size_t receive(Sink&& sink) {
    const std::size_t messages = receive_messages();
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

 private:
  struct Received {
    quic::MutableBytes bytes;
    std::size_t segment_size = 1;
    quic::AddressPair path;
    quic::Ecn ecn = quic::Ecn::kNotEct;
  };
  struct Buffers;

  // How far one system call came: bytes of the batch that are done with, or the error.
  struct Attempt {
    std::size_t bytes = 0;
    int error = 0;
  };

  UdpSocket(int descriptor, bool ipv6, const UdpSocketOptions& options);
  void set_options(const UdpSocketOptions& options);
  Attempt send_offloaded(const quic::TransmitBatch& batch, std::size_t offset);
  Attempt send_messages(const quic::TransmitBatch& batch, std::size_t offset);
  std::size_t receive_messages();
  void take(std::size_t index);

  int descriptor_;
  bool ipv6_;
  bool segmentation_;
  std::size_t resume_offset_ = 0;  // of the batch that was blocked
  quic::Address local_;
  std::vector<Received> received_;
  std::unique_ptr<Buffers> buffers_;
};

}  // namespace sheaf::io
