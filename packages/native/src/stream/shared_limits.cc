#include "stream/shared_limits.h"

#include <algorithm>

#include "stream/stream_parts.h"

namespace sheaf::quic {

std::uint64_t SharedLimits::credit() const { return parts_.limits.send.available(); }

bool SharedLimits::needs_credit() const { return parts_.lanes.any_path().needs_credit(); }

void SharedLimits::raise_credit(std::uint64_t limit) {
  if (parts_.limits.raise_credit(limit)) parts_.lanes.schedule_credit_waiters();
}

StreamLease SharedLimits::lease_out(const StreamLease& wanted) {
  ConnectionLimits& limits = parts_.limits;
  StreamLease lease;
  lease.credit = std::min(wanted.credit, limits.send.available());
  limits.send.consume(lease.credit);
  if (lease.credit < wanted.credit) limits.note_blocked();
  for (std::size_t i = 0; i < lease.ids.size(); ++i) {
    SendLimit& limit = limits.local_streams(static_cast<Directionality>(i));
    lease.ids[i] = {limit.used(), std::min(wanted.ids[i].count, limit.available())};
    limit.consume(lease.ids[i].count);
  }
  if (limits.send.available() == 0) parts_.open.refresh_sending();
  return lease;
}

void SharedLimits::settle(std::uint64_t leased, std::uint64_t used) {
  SendLimit& limit = parts_.limits.send;
  limit.give_back(std::min(leased, limit.used()));
  limit.consume(std::min(used, k_max_varint - std::min(limit.used(), k_max_varint)));
  parts_.open.refresh_sending();
}

void SharedLimits::count_elsewhere(std::uint64_t consumed, std::uint64_t streams_closed, Time now) {
  ConnectionLimits& limits = parts_.limits;
  if (limits.receive.consume_elsewhere(consumed, now, limits.rtt)) {
    limits.announce_receive_window();
  }
  limits.peer_streams(Directionality::kBidirectional).on_closed_elsewhere(streams_closed);
  limits.request_max_streams_if_due(Directionality::kBidirectional);
}

bool SharedLimits::exceeded() const { return parts_.limits.receive.exceeded(); }

void SharedLimits::tolerate() { parts_.limits.receive.tolerate(); }

}  // namespace sheaf::quic
