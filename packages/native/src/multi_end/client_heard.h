#pragma once

#include "connection/connection.h"

namespace sheaf::quic {

// When to tell another server of the connection that the client was heard here (ClientHeard): at
// most four times per idle timeout, and only when it is news.
class ClientHeardSchedule {
 public:
  // True: it is to be told now, and counts as told.
  bool due(const Connection& connection, Time now) {
    if (now < next_timeout(connection)) return false;
    told_ = connection.last_received();
    told_at_ = now;
    return true;
  }
  Time next_timeout(const Connection& connection) const {
    const Duration timeout = connection.idle_timeout();
    if (timeout == Duration::zero() || connection.last_received() <= told_) return k_never;
    return told_at_ + timeout / 4;
  }

 private:
  Time told_{};
  Time told_at_{};
};

}  // namespace sheaf::quic
