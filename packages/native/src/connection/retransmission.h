#pragma once

#include "connection/parts.h"

namespace sheaf::quic {

// When data that is not acknowledged goes out again, and where (RFC 9002 §6.2, RFC 10069 §5.6).
class Retransmission {
 public:
  Retransmission(ConnectionParts& parts, Time now) : parts_(parts), now_(now) {}
  void on_timeout(PathEntry& entry);
  // Near the end of what there is to send: what would arrive later on its own path than sent again
  // now on this one is sent again. The extra bytes are bounded by a share of all that was sent.
  void repeat_late_on(PathEntry& fast);
  bool another_path_works(const PathEntry& entry) const;

 private:
  ConnectionParts& parts_;
  Time now_;
};

}  // namespace sheaf::quic
