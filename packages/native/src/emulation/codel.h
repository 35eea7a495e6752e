#pragma once

#include "emulation/link_queue.h"
#include "util/codel_law.h"

namespace sheaf::quic {

// Controlled Delay (RFC 8289): drops from the front what the law tells. ECN-capable datagrams are
// marked instead.
class CoDel final : public QueueDiscipline {
 public:
  LinkDatagramPointer dequeue(LinkQueue& queue, Time now) override {
    while (!queue.empty()) {
      const bool acts = law_.acts_on(now - queue.front().queued_at, queue.bytes(), now);
      if (!acts || queue.mark_front()) return queue.pop();
      queue.drop_front();
    }
    law_.on_empty();
    return nullptr;
  }

 private:
  CoDelLaw law_;
};

}  // namespace sheaf::quic
