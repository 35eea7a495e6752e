#pragma once

#include <algorithm>
#include <vector>

#include "http3/session_parts.h"
#include "util/random.h"

namespace sheaf::http3 {

// The control stream and the QPACK streams of this side (RFC 9114 §6.2.1, RFC 9204 §4.2): one of
// each kind. Everything that it is given outlives this object.
class OwnStreams {
 public:
  OwnStreams(SessionParts& parts, quic::Random& random) : parts_(parts), random_(random) {}

  void start();
  // Opens those that are missing, after `start`. A peer that grants fewer than three at first makes
  // us wait.
  void open();
  bool contains(StreamId id) const { return std::ranges::find(ids_, id) != ids_.end(); }
  // The control stream is open.
  bool has_control() const { return !ids_.empty(); }
  // Needs the control stream.
  void write_control_frame(std::uint64_t type, Bytes payload);

  // --- GOAWAY (RFC 9114 §5.2) -------------------------------------------------------------------
  // Says that requests will be refused soon.
  void announce_shutdown();
  // Returns whether the peer has that announcement, now that it has the stream up to `offset`.
  bool has_announced(StreamId id, std::uint64_t offset) const {
    return announcement_end_ != 0 && id == ids_[0] && offset >= announcement_end_;
  }
  // Says that requests from this one on are refused.
  void write_go_away(std::uint64_t first_refused);

 private:
  SessionParts& parts_;
  quic::Random& random_;
  bool started_ = false;
  std::vector<StreamId> ids_;           // control, QPACK encoder, QPACK decoder, as far as opened
  std::uint64_t control_written_ = 0;   // bytes on the control stream
  std::uint64_t announcement_end_ = 0;  // of the first GOAWAY there; 0: not sent
  std::vector<std::uint8_t> scratch_;
};

}  // namespace sheaf::http3
