#pragma once

#include "connection/connection.h"

namespace sheaf::quic {

// Decides when to tell another server of the connection that the client was heard here
// (ClientHeard): at most four times per idle timeout, and only when there is something new.
class ClientHeardSchedule {
 public:
  // Returns true when it is due, and counts it as sent.
  bool due(const Connection& connection, Time now);
  Time next_timeout(const Connection& connection) const;

 private:
  Time told_{};
  Time told_at_{};
};

}  // namespace sheaf::quic
