#pragma once

#include "tunnel/counts.h"
#include "tunnel/packet_queue.h"
#include "util/codel_law.h"

namespace sheaf::tunnel {

// Asks Controlled Delay (RFC 8289) about the oldest packet of a queue. When the queue stands, a
// packet whose sender hears marks is marked, and another one is dropped (RFC 7567 §4.2.1,
// draft-ietf-masque-connect-udp-ecn-dscp-02 §5.3). Returns false for one that was dropped.
inline bool keep_front(PacketQueue& queue, quic::CoDelLaw& law, Counts& counts, quic::Time now) {
  if (!law.acts_on(now - queue.front_time(), queue.bytes(), now)) return true;
  const quic::Ecn ecn = queue.front().ecn;
  if (ecn == quic::Ecn::kNotEct) {
    counts.drop(DropReason::kQueueStanding);
    queue.pop();
    return false;
  }
  // One that came with the mark tells its sender as much.
  if (ecn != quic::Ecn::kCe) ++counts.marked;
  queue.mark_front();
  return true;
}

}  // namespace sheaf::tunnel
