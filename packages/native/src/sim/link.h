#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "util/address.h"
#include "util/random.h"
#include "util/time.h"
#include "wire/types.h"

namespace sheaf::quic {

// What a link is made of, in the order in which a datagram meets it.
struct LinkConfig {
  std::size_t mtu = 65535;              // larger datagrams are dropped; UDP payload bytes
  std::size_t queue_bytes = 256 << 10;  // drop-tail, without the datagram being transmitted
  std::size_t mark_bytes = SIZE_MAX;    // ECN-capable datagrams are marked when more are waiting
  std::uint64_t rate = 0;               // bytes per second; 0 = no limit
  double loss = 0;                      // probability, of each datagram alone
  double duplication = 0;               // probability
  Duration delay{};
  Duration jitter{};            // uniform addition up to this; keeps the order
  double reordering = 0;        // probability of being held back
  Duration reordering_delay{};  // by this, while later ones overtake
};

// `sent + duplicated` is the sum of all the others and `Link::in_transit`.
struct LinkStats {
  std::uint64_t sent = 0;
  std::uint64_t duplicated = 0;
  std::uint64_t too_large = 0;
  std::uint64_t queue_full = 0;
  std::uint64_t lost = 0;
  std::uint64_t delivered = 0;

  std::uint64_t marked = 0;
  std::uint64_t bytes_delivered = 0;
};

// A datagram that owns its bytes.
struct LinkDatagram {
  std::vector<std::uint8_t> payload;
  AddressPair path;  // as the receiver sees it
  Ecn ecn = Ecn::kNotEct;
};

// One direction of a network path. Sans-IO: the caller brings the time, virtual or real. A datagram
// passes queue, transmission, loss and propagation; each is one function here, which is where other
// queue disciplines, rate traces and loss processes go.
class Link {
 public:
  Link(const LinkConfig& config, std::uint64_t seed) : config_(config), random_(seed) {}

  // Other parameters from `when` on, given in order of time. What is being transmitted or
  // propagated then ends as it began.
  void change_at(Time when, const LinkConfig& config) { changes_.push_back({when, config}); }
  void send(LinkDatagram datagram, Time now);
  // When something moves; k_never when the link is empty.
  Time next_timeout() const;
  // What has arrived by now, one at a time.
  std::optional<LinkDatagram> poll_arrival(Time now);

  const LinkConfig& config() const { return config_; }
  const LinkStats& stats() const { return stats_; }
  std::uint64_t in_transit() const {
    return waiting_.size() + (transmitting_ ? 1 : 0) + arrivals_.size();
  }

 private:
  struct Change {
    Time when;
    LinkConfig config;
  };
  struct Arrival {
    Time when;
    std::uint64_t sequence = 0;
    LinkDatagram datagram;
    // For a heap with the earliest on top, in a stable order.
    bool operator<(const Arrival& other) const {
      return when != other.when ? when > other.when : sequence > other.sequence;
    }
  };

  void advance(Time now);
  void apply_changes(Time now);
  void enqueue(LinkDatagram datagram);
  std::optional<LinkDatagram> dequeue();
  void start_transmission(Time now);
  bool is_lost();
  void propagate(LinkDatagram datagram, Time now);
  void schedule_arrival(LinkDatagram datagram, Time now);
  bool happens(double probability) { return probability > 0 && random_.uniform() < probability; }

  LinkConfig config_;
  SeededRandom random_;
  LinkStats stats_;
  std::deque<Change> changes_;
  std::deque<LinkDatagram> waiting_;
  std::size_t waiting_bytes_ = 0;
  std::optional<LinkDatagram> transmitting_;
  Time transmission_end_{};
  std::vector<Arrival> arrivals_;  // a heap
  std::uint64_t next_sequence_ = 0;
  Time last_arrival_ = Time::min();
};

}  // namespace sheaf::quic
