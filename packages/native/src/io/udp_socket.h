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

// Describes a failed system call in a message that names the address. Carries errno's name, such as
// "EADDRINUSE".
struct SocketError {
  int number = 0;
  std::string message;
};

struct UdpSocketOptions {
  bool reuse_port = false;           // lets several threads share the port
  bool segmentation_offload = true;  // uses UDP_SEGMENT and UDP_GRO where the kernel has them
};

// Owns a non-blocking UDP socket. It sends a batch in one system call and receives many datagrams
// in one. Each datagram carries its ECN mark and its local address. Nothing is allocated after
// `open`.
class UdpSocket {
 public:
  // Opens a socket. An IPv6 socket bound to the unspecified address serves IPv4 as well.
  static quic::Result<std::unique_ptr<UdpSocket>, SocketError> open(
      const quic::Address& local, const UdpSocketOptions& options);
  ~UdpSocket();
  UdpSocket(const UdpSocket&) = delete;
  UdpSocket& operator=(const UdpSocket&) = delete;

  // Clears and returns the error (errno) that an earlier call or an ICMP message left.
  int take_error();
  int descriptor() const { return descriptor_; }
  const quic::Address& local_address() const { return local_; }

  enum class SendOutcome : std::uint8_t {
    kSent,
    kBlocked,  // the socket's buffer is full; call again with the same batch when it is writable.
               // Datagrams that were sent are not sent again.
    kDropped,  // the network refused the batch (no route, too large), which counts as loss
  };
  SendOutcome send(const quic::TransmitBatch& batch);

  // Receives the datagrams that one system call returns, and passes each to `sink(const
  // quic::Datagram&)`. Its bytes are valid during the call. Returns the number of datagrams; 0
  // means that none are left.
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

  // Reports how far one system call came: the bytes of the batch that are settled, or the error.
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
  std::size_t resume_offset_ = 0;  // position in the batch that was blocked
  quic::Address local_;
  std::vector<Received> received_;
  std::unique_ptr<Buffers> buffers_;
};

}  // namespace sheaf::io
