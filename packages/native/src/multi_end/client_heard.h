#pragma once

#include "connection/connection.h"

namespace sheaf::quic {

// Says when to tell another server of the connection that the client was heard here (ClientHeard):
// at most four times per idle timeout, and only when it is news.
class ClientHeardSchedule {
 public:
  // True: it is to be told now, and counts as told.
  bool due(const Connection& connection, Time now);
  Time next_timeout(const Connection& connection) const;

 private:
  Time told_{};
  Time told_at_{};
};

}  // namespace sheaf::quic
