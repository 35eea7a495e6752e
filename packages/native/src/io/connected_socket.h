#pragma once

#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "io/control_message.h"
#include "io/socket_calls.h"
#include "util/address.h"
#include "util/bytes.h"
#include "util/result.h"

namespace sheaf::io {

// Datagrams that leave together: copied one behind the other, in runs of equal sizes and marks,
// which the kernel segments. Nothing is allocated after the constructor.
class DatagramRuns {
 public:
  static constexpr std::size_t k_bytes = 64 << 10;
  static constexpr std::size_t k_runs = 64;

  struct Run {
    std::size_t offset = 0;
    std::size_t size = 0;
    std::size_t segment_size = 0;
    quic::Ecn ecn = quic::Ecn::kNotEct;
    std::size_t segments() const {
      return segment_size == 0 ? 1 : (size + segment_size - 1) / segment_size;
    }
  };

  bool empty() const { return count_ == 0; }
  std::span<const Run> runs() const { return std::span(runs_).first(count_); }
  quic::MutableBytes bytes_of(const Run& run) {
    return quic::MutableBytes(buffer_).subspan(run.offset, run.size);
  }
  // Appends a datagram of two parts, which is sent with the mark. Returns false when there is no
  // room. An empty collection has room for any datagram.
  bool append(quic::Bytes head, quic::Bytes payload, quic::Ecn ecn);
  bool append(quic::Bytes datagram, quic::Ecn ecn = quic::Ecn::kNotEct) {
    return append({}, datagram, ecn);
  }
  void clear() { count_ = used_ = 0; }

 private:
  bool extend(std::size_t size, quic::Ecn ecn);

  std::vector<std::uint8_t> buffer_ = std::vector<std::uint8_t>(k_bytes);
  std::array<Run, k_runs> runs_{};
  std::size_t count_ = 0;
  std::size_t used_ = 0;  // bytes
};

// Owns a non-blocking UDP socket that exchanges datagrams with one peer alone. Datagrams are never
// fragmented, come and go with their ECN marks, and many at a time. Its buffers belong to the
// caller, so that many sockets share them.
class ConnectedSocket {
 public:
  struct Buffers;
  struct FreeBuffers {
    void operator()(Buffers* buffers) const;
  };
  using BuffersPointer = std::unique_ptr<Buffers, FreeBuffers>;
  static BuffersPointer make_buffers();

  // Without a local address, the system chooses one. A given one may be that of another socket of
  // this user that permits it (SO_REUSEPORT): what comes from the peer arrives here then.
  static quic::Result<std::unique_ptr<ConnectedSocket>, SocketError> open(
      const quic::Address& peer, const std::optional<quic::Address>& local = std::nullopt);
  ~ConnectedSocket();
  ConnectedSocket(const ConnectedSocket&) = delete;
  ConnectedSocket& operator=(const ConnectedSocket&) = delete;

  int descriptor() const { return descriptor_; }
  const quic::Address& local_address() const { return local_; }

  // What became of datagrams
  struct Sent {
    std::size_t datagrams = 0;
    std::size_t bytes = 0;
    std::size_t too_large = 0;
    std::size_t blocked = 0;  // the system had no room
    std::size_t refused = 0;  // for another reason
    int gone = 0;             // the error that tells that the peer cannot be reached
  };
  // Sends all runs. The collection is empty afterwards.
  Sent send(DatagramRuns& runs, Buffers& buffers);

  struct Received {
    std::size_t messages = 0;
    std::size_t too_large = 0;  // an ICMP message told that an earlier datagram was
    int gone = 0;
    bool drained = false;  // nothing more waits
  };
  // Passes the datagrams that one system call returns to `sink(quic::Bytes, quic::Ecn)`.
  template <typename Sink>
  Received receive(Buffers& buffers, Sink&& sink) {
    const Received received = receive_messages(buffers);
    for (std::size_t i = 0; i < received.messages; ++i) {
      const Message message = message_of(buffers, i);
      if (message.bytes.empty() && message.whole) sink(quic::Bytes(), message.ecn);
      for (std::size_t at = 0; at < message.bytes.size(); at += message.segment_size) {
        const std::size_t size = std::min(message.segment_size, message.bytes.size() - at);
        sink(message.bytes.subspan(at, size), message.ecn);
      }
    }
    return received;
  }

 private:
  struct Message {
    quic::Bytes bytes;
    std::size_t segment_size = 1;
    bool whole = true;
    quic::Ecn ecn = quic::Ecn::kNotEct;
  };

  explicit ConnectedSocket(int descriptor) : descriptor_(descriptor) {}
  Received receive_messages(Buffers& buffers);
  static Message message_of(Buffers& buffers, std::size_t index);
  // The family of the peer decides how a datagram is marked. The socket has the addresses.
  quic::AddressPair path_of_marks() const;
  void send_singly(quic::MutableBytes bytes, const DatagramRuns::Run& run, Sent& sent);
  static void settle(int error, std::size_t datagrams, Sent& sent);

  int descriptor_;
  quic::Address local_;
};

}  // namespace sheaf::io
