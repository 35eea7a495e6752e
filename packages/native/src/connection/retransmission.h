#pragma once

#include "connection/parts.h"

namespace sheaf::quic {

// When data that is not acknowledged goes out again, and where (RFC 9002 §6.2, RFC 10069 §5.6).
class Retransmission {
 public:
  Retransmission(Connection::Parts& parts, Time now) : parts_(parts), now_(now) {}
  void on_timeout(PathEntry& entry);

 private:
  bool another_path_works(const PathEntry& entry) const;

  Connection::Parts& parts_;
  Time now_;
};

}  // namespace sheaf::quic
