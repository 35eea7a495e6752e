#include "multi_end/client_heard.h"

namespace sheaf::quic {

bool ClientHeardSchedule::due(const Connection& connection, Time now) {
  if (now < next_timeout(connection)) return false;
  told_ = connection.extension().last_received();
  told_at_ = now;
  return true;
}

Time ClientHeardSchedule::next_timeout(const Connection& connection) const {
  const ConnectionExtension& extension = connection.extension();
  const Duration timeout = extension.idle_timeout();
  if (timeout == Duration::zero() || extension.last_received() <= told_) return k_never;
  return told_at_ + timeout / 4;
}

}  // namespace sheaf::quic
