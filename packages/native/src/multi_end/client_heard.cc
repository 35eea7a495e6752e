#include "multi_end/client_heard.h"

#include "connection/parts.h"

namespace sheaf::quic {

bool ClientHeardSchedule::due(const Connection& connection, Time now) {
  if (now < next_timeout(connection)) return false;
  told_ = connection.parts().idle.last_received();
  told_at_ = now;
  return true;
}

Time ClientHeardSchedule::next_timeout(const Connection& connection) const {
  const IdleTimer& idle = connection.parts().idle;
  if (idle.timeout() == Duration::zero() || idle.last_received() <= told_) return k_never;
  return told_at_ + idle.timeout() / 4;
}

}  // namespace sheaf::quic
