#pragma once

#include <algorithm>
#include <vector>

#include "http3/session_parts.h"
#include "util/random.h"

namespace sheaf::http3 {

// Owns the control stream and the QPACK streams of this side, one of each kind (RFC 9114 §6.2.1,
// RFC 9204 §4.2). All arguments of the constructor must outlive this object.
class OwnStreams {
 public:
  OwnStreams(SessionParts& parts, quic::Random& random) : parts_(parts), random_(random) {}

  void start();
  // Opens the streams that are missing; must be called after `start`. A peer that grants fewer than
  // three streams at first makes this side wait.
  void open();
  bool contains(StreamId id) const { return std::ranges::find(ids_, id) != ids_.end(); }
  // Returns whether the control stream is open.
  bool has_control() const { return !ids_.empty(); }
  // Requires the control stream.
  void write_control_frame(std::uint64_t type, Bytes payload);

  // --- GOAWAY (RFC 9114 §5.2) -------------------------------------------------------------------
  // Announces that requests will be refused soon.
  void announce_shutdown();
  // Returns whether the peer has received that announcement, now that it has the stream up to
  // `offset`.
  bool has_announced(StreamId id, std::uint64_t offset) const {
    return announcement_end_ != 0 && id == ids_[0] && offset >= announcement_end_;
  }
  // Announces that requests from this id on are refused.
  void write_go_away(std::uint64_t first_refused);

 private:
  SessionParts& parts_;
  quic::Random& random_;
  bool started_ = false;
  std::vector<StreamId> ids_;  // control, QPACK encoder and QPACK decoder, as far as they are open
  std::uint64_t control_written_ = 0;   // bytes on the control stream
  std::uint64_t announcement_end_ = 0;  // end of the first GOAWAY on the control stream; 0 when it
                                        // was not sent
  std::vector<std::uint8_t> scratch_;
};

}  // namespace sheaf::http3
