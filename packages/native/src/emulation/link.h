#pragma once

#include <deque>
#include <memory>

#include "emulation/arrival_queue.h"
#include "emulation/capacity_trace.h"
#include "emulation/link_config.h"
#include "emulation/link_datagram.h"
#include "emulation/link_queue.h"
#include "emulation/loss.h"

namespace sheaf::quic {

// One direction of a network path. Sans-IO: the caller passes the time, virtual or real. A datagram
// passes queue, transmission, loss and propagation. Nothing is allocated per datagram.
class Link {
 public:
  Link(const LinkConfig& config, std::uint64_t seed);
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  // Changes the parameters now, or at `when`, given in order of time. A transmission or propagation
  // that has begun is not affected.
  void change(const LinkConfig& config, Time now);
  void change_at(Time when, const LinkConfig& config) { changes_.push_back({when, config}); }
  // Takes a copy of the bytes.
  void send(Bytes payload, const LinkHeader& header, Time now);
  // Takes a copy of a datagram, which shares its bytes.
  void send(const LinkDatagram& datagram, const LinkHeader& header, Time now);
  // Returns when something moves; k_never when the link is empty.
  Time next_timeout() const;
  // Takes a datagram that has arrived by now; null when there is none. It is valid until the next
  // call.
  LinkDatagram* poll_arrival(Time now);

  const LinkConfig& config() const { return config_; }
  const LinkStats& stats() const { return stats_; }
  std::size_t waiting_bytes() const { return queue_.bytes(); }
  // Counts everything in transit, since the limits of the queue do not bound what a long delay
  // holds.
  std::size_t memory_bytes() const { return pool_.bytes_in_use(); }
  std::uint64_t in_transit() const {
    return queue_.size() + (transmitting_ ? 1 : 0) + arrivals_.size();
  }

 private:
  struct Change {
    Time when;
    LinkConfig config;
  };

  // Returns whether the link takes a datagram of this size.
  bool admit(std::size_t bytes, Time now);
  void push(LinkDatagramPointer datagram, Time now);
  // Whether nothing ever waits: datagrams take no time to send.
  bool has_no_queue() const {
    return config_.rate == 0 && !config_.trace && !transmitting_ &&
           config_.queue_discipline == QueueDisciplineKind::kDropTail;
  }
  void advance(Time now);
  void apply_changes(Time now);
  void apply(const LinkConfig& config);
  void start_transmission(Time now);
  Time transmission_end(std::size_t bytes, Time now);
  void propagate(LinkDatagramPointer datagram, Time now);
  void schedule_arrival(LinkDatagramPointer datagram, Time now);
  void drop(LinkDatagramPointer datagram, std::uint64_t& counter);
  bool happens(double probability) { return probability > 0 && random_.uniform() < probability; }

  LinkConfig config_;
  SeededRandom random_;
  LinkStats stats_;
  DatagramPool pool_;
  std::deque<Change> changes_;
  LinkQueue queue_{pool_, stats_};
  std::unique_ptr<QueueDiscipline> discipline_;
  CapacityCursor capacity_;
  LinkDatagramPointer transmitting_;
  Time transmission_end_{};
  RandomLoss random_loss_;
  BurstLoss burst_loss_;
  CorrelatedUniform jitter_;
  ArrivalQueue arrivals_;
  Time last_arrival_ = Time::min();
  LinkDatagramPointer arrived_;  // lent to the caller
};

}  // namespace sheaf::quic
