#pragma once

#include "emulation/link_config.h"
#include "emulation/link_datagram.h"
#include "util/ring.h"

namespace sheaf::quic {

// Holds the datagrams that wait for transmission, oldest first, and counts their fates.
class LinkQueue {
 public:
  LinkQueue(DatagramPool& pool, LinkStats& stats) : pool_(pool), stats_(stats) {}

  bool empty() const { return datagrams_.empty(); }
  std::size_t size() const { return datagrams_.size(); }
  std::size_t bytes() const { return bytes_; }
  const LinkDatagram& front() const { return *datagrams_.front(); }

  // `limited`: drop the datagram if it does not fit.
  void push(LinkDatagramPointer datagram, const LinkConfig& config, bool limited, Time now);
  LinkDatagramPointer pop();
  // Drops the oldest datagram on behalf of the discipline.
  void drop_front();
  // Marks the oldest datagram with CE (RFC 3168 §5). Returns false when it is not ECN-capable.
  bool mark_front() { return mark(*datagrams_.front()); }

 private:
  bool mark(LinkDatagram& datagram);

  DatagramPool& pool_;
  LinkStats& stats_;
  Ring<LinkDatagramPointer> datagrams_;
  std::size_t bytes_ = 0;
};

// Decides which datagrams leave a queue.
class QueueDiscipline {
 public:
  virtual ~QueueDiscipline() = default;
  // Returns the next datagram to transmit; null when none is left.
  virtual LinkDatagramPointer dequeue(LinkQueue& queue, Time now) = 0;
};

// Drops only at the limits of the queue.
class DropTail final : public QueueDiscipline {
 public:
  LinkDatagramPointer dequeue(LinkQueue& queue, Time) override {
    return queue.empty() ? nullptr : queue.pop();
  }
};

}  // namespace sheaf::quic
