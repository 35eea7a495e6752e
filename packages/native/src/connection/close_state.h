#pragma once

#include <optional>

#include "connection/event.h"
#include "util/time.h"
#include "wire/frame.h"

namespace sheaf::quic {

// Ends a connection (RFC 9000 §10.2). While it closes, a received packet may be answered with
// CONNECTION_CLOSE, ever less often. While it drains, only the peer's close is answered, once.
class CloseState {
 public:
  enum class Phase : std::uint8_t { kOpen, kClosing, kDraining, kClosed };

  Phase phase() const { return phase_; }
  // The first cause wins; later ones are ignored. `linger` is 3 probe timeouts.
  void start_closing(const ConnectionClosed& closed, Time now, Duration linger);
  void start_draining(const ConnectionClosed& closed, Time now, Duration linger);
  // The peer has closed, by a packet on `path`. RFC 9000 §10.2.2: one CONNECTION_CLOSE may answer
  // it. Some peers wait for it, and tell their application of an error when none comes.
  void on_peer_closed(const ConnectionClosed& closed, PathId path, Time now, Duration linger);
  PathId answer_path() const { return answer_path_; }
  // Ends at once, without CONNECTION_CLOSE (RFC 9000 §10.1, §10.3).
  void finish(const ConnectionClosed& closed);

  // The application closed the connection: data that it wrote before goes before CONNECTION_CLOSE.
  bool last_words_due() const { return last_words_due_; }
  void last_words_sent() { last_words_due_ = false; }
  void on_packet_received();
  bool frame_due() const { return frame_due_; }
  ConnectionCloseFrame frame() const;
  void frame_sent() { frame_due_ = false; }

  const ConnectionClosed& closed() const { return closed_; }
  Time deadline() const { return deadline_; }
  void on_timeout(Time now);

 private:
  Phase phase_ = Phase::kOpen;
  ConnectionClosed closed_;
  PathId answer_path_;
  Time deadline_ = k_never;
  bool last_words_due_ = false;
  bool frame_due_ = false;
  std::uint64_t packets_received_ = 0;
};

}  // namespace sheaf::quic
