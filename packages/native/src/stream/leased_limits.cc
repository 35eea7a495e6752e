#include "stream/leased_limits.h"

#include <algorithm>

#include "stream/stream_parts.h"

namespace sheaf::quic {

void LeasedLimits::start(const StreamLease& lease) {
  ConnectionLimits& limits = parts_.limits;
  parts_.lookup.share();
  limits.leased = true;
  limits.send.start_at(0, lease.credit);
  for (std::size_t i = 0; i < lease.ids.size(); ++i) {
    const StreamLease::Ids& ids = lease.ids[i];
    limits.local_streams(static_cast<Directionality>(i)).start_at(ids.first, ids.first + ids.count);
  }
}

std::uint64_t LeasedLimits::credit() const { return parts_.limits.send.available(); }

bool LeasedLimits::needs_credit() const { return parts_.lanes.any_path().needs_credit(); }

void LeasedLimits::extend_credit(std::uint64_t bytes) {
  if (bytes == 0) return;
  parts_.limits.add_credit(bytes);
  parts_.lanes.schedule_credit_waiters();
}

std::uint64_t LeasedLimits::give_up_credit(std::uint64_t bytes) {
  SendLimit& limit = parts_.limits.send;
  const std::uint64_t given = std::min(bytes, limit.available());
  limit.replace(limit.limit() - given);
  if (limit.available() == 0) parts_.open.refresh_sending();
  return given;
}

std::uint64_t LeasedLimits::ids_left(Directionality directionality) const {
  return parts_.limits.local_streams(directionality).available();
}

bool LeasedLimits::replace_ids(Directionality directionality, const StreamLease::Ids& ids) {
  SendLimit& limit = parts_.limits.local_streams(directionality);
  if (limit.available() > 0 || ids.first < limit.used()) return false;
  limit.start_at(ids.first, ids.first + ids.count);
  if (ids.count > 0) parts_.events.push_streams_available(directionality);
  return true;
}

std::uint64_t LeasedLimits::told_max_data() const { return parts_.limits.told_max_data; }

std::uint64_t LeasedLimits::consumed() const { return parts_.limits.receive.consumed(); }

std::uint64_t LeasedLimits::streams_closed() const { return parts_.open.peer_closed(); }

bool LeasedLimits::in_use() const { return parts_.open.size() > 0; }

void LeasedLimits::trim_memory() { parts_.open.trim(); }

}  // namespace sheaf::quic
