#pragma once

#include "connection/parts.h"

namespace sheaf::quic {

// Decides when data that is not acknowledged is sent again, and on which path (RFC 9002 §6.2, RFC
// 10069 §5.6).
class Retransmission {
 public:
  Retransmission(ConnectionParts& parts, Time now) : parts_(parts), now_(now) {}
  void on_timeout(PathEntry& entry);
  // Near the end of a transfer: repeats on this path data that would arrive later on its own. The
  // extra bytes are bounded by a share of all that was sent.
  void repeat_late_on(PathEntry& fast);
  bool another_path_works(const PathEntry& entry) const;

 private:
  ConnectionParts& parts_;
  Time now_;
};

}  // namespace sheaf::quic
