#pragma once

#include <vector>

#include "recovery/sent_packets.h"
#include "util/interval_set.h"
#include "wire/frame.h"
#include "wire/transport_error.h"

namespace sheaf::quic {

// Carries TLS messages in 1-RTT packets both ways (RFC 9000 §7.5): session tickets.
class CryptoStream {
 public:
  void write(Bytes messages);
  bool has_pending() const;
  void write_frames(Writer& writer, SentPackets& sent);
  void on_acknowledged(const SentFrame& frame);
  void on_lost(const SentFrame& frame);

  // Fails with CRYPTO_BUFFER_EXCEEDED when more than 16 KiB wait to be read.
  TransportStatus on_frame(const CryptoFrame& frame);
  bool readable() const;
  // Returns the in-order bytes that were not read before.
  std::vector<std::uint8_t> read();

 private:
  static constexpr std::uint64_t k_receive_limit = 16384;

  std::vector<std::uint8_t> outgoing_;  // from offset 0: a few tickets in a connection's life
  IntervalSet unsent_;
  IntervalSet acknowledged_;
  std::vector<std::uint8_t> incoming_;  // from offset read_
  IntervalSet received_;
  std::uint64_t read_ = 0;
};

}  // namespace sheaf::quic
