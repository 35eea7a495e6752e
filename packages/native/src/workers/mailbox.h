#pragma once

#include <atomic>
#include <cstring>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

#include "connection/transmit.h"
#include "endpoint/placement.h"

namespace sheaf::workers {

// Datagrams that other threads have for an endpoint. Bounded: what does not fit is lost, as in the
// queue of a socket. Nothing is allocated once both arrays have grown.
class Mailbox {
 public:
  static constexpr std::size_t k_limit = 2 << 20;  // bytes of one array

  // Copies a datagram. Returns false when it is lost: the mailbox is full, or nobody reads it.
  bool push(const quic::Datagram& datagram, quic::Origin origin);
  // `wake` is called by other threads when the mailbox is no longer empty. It must not call this
  // object.
  void open(std::function<void()> wake);
  // Wakes the reader for something else.
  void wake();
  // Frees what waits. `wake` is not called any more once this returns.
  void close();

  // Passes each datagram that waits to `sink(const quic::Datagram&, quic::Origin)`. Its bytes are
  // valid during the call. Returns how many there were. For the thread that opened the mailbox.
  template <typename Sink>
  std::size_t take(Sink&& sink) {
    swap();
    std::size_t count = 0;
    for (std::size_t at = 0; at < reading_.size(); ++count) {
      Header header;
      std::memcpy(&header, reading_.data() + at, sizeof header);
      at += sizeof header;
      sink(quic::Datagram{quic::MutableBytes(reading_).subspan(at, header.size), header.path,
                          header.ecn},
           header.origin);
      at += padded(header.size);
    }
    return count;
  }

 private:
  struct Header {
    quic::AddressPair path;
    std::size_t size = 0;
    quic::Ecn ecn = quic::Ecn::kNotEct;
    quic::Origin origin = quic::Origin::kWorker;
  };
  static std::size_t padded(std::size_t size) {
    constexpr std::size_t k_alignment = alignof(Header);
    return (size + k_alignment - 1) / k_alignment * k_alignment;
  }
  void swap();

  std::mutex mutex_;
  std::vector<std::uint8_t> writing_;
  std::function<void()> wake_;         // empty: nobody reads
  std::vector<std::uint8_t> reading_;  // of the thread that reads
};

}  // namespace sheaf::workers
