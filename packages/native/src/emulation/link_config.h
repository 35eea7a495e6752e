#pragma once

#include <cstdint>
#include <memory>

#include "util/time.h"

namespace sheaf::quic {

class CapacityTrace;

// How a draw depends on the one before. It repeats it with the probability of the correlation, or
// is averaged with it in that proportion, which makes rare losses rarer still.
enum class CorrelationKind : std::uint8_t { kRepeats, kAverages };

enum class QueueDisciplineKind : std::uint8_t { kDropTail, kCoDel };

// Bursts of losses: a Markov chain with a good and a bad state, one step per datagram (Gilbert
// 1960, Elliott 1963). All four are probabilities.
struct GilbertElliott {
  double enter_bad = 0;  // per datagram in the good state; 0 = no bursts
  double leave_bad = 1;  // per datagram in the bad state
  double loss_bad = 1;
  double loss_good = 0;

  // Loses all datagrams in the bad state and none in the good one. So `share` (below 1) of all
  // datagrams is lost, in bursts of `mean_length` (at least 1) datagrams.
  static GilbertElliott bursts(double share, double mean_length) {
    const double leave = 1 / mean_length;
    return {.enter_bad = share * leave / (1 - share), .leave_bad = leave};
  }
};

// The properties of a link, in the order in which a datagram meets them. Sizes and rates count UDP
// payload bytes; probabilities and correlations are between 0 and 1.
struct LinkConfig {
  bool down = false;                    // loses what is sent, waits or is being transmitted
  std::size_t mtu = 65535;              // larger datagrams are dropped
  std::size_t queue_bytes = 256 << 10;  // limits of the queue behind the datagram in transmission
  std::size_t queue_packets = SIZE_MAX;
  QueueDisciplineKind queue_discipline = QueueDisciplineKind::kDropTail;
  std::size_t mark_bytes = SIZE_MAX;  // ECN-capable datagrams are marked when more are waiting
  std::uint64_t rate = 0;             // bytes per second; 0 = no limit
  std::shared_ptr<const CapacityTrace> trace{};  // instead of `rate`
  double loss = 0;                               // probability
  double loss_correlation = 0;                   // with the fate of the previous datagram
  GilbertElliott burst_loss{};                   // besides `loss`
  double duplication = 0;                        // probability
  Duration delay{};
  Duration jitter{};              // uniform addition up to this
  double jitter_correlation = 0;  // with the jitter of the previous datagram
  bool jitter_reorders = false;   // otherwise jitter keeps the order
  CorrelationKind correlation_kind = CorrelationKind::kRepeats;
  double reordering = 0;        // probability of being held back
  Duration reordering_delay{};  // by this, while later ones overtake
};

// Counters. `sent + duplicated` equals the sum of the next six and `Link::in_transit`.
struct LinkStats {
  std::uint64_t sent = 0;
  std::uint64_t duplicated = 0;

  std::uint64_t too_large = 0;
  std::uint64_t queue_full = 0;
  std::uint64_t queue_managed = 0;  // dropped by CoDel
  std::uint64_t down = 0;
  std::uint64_t lost = 0;
  std::uint64_t delivered = 0;

  std::uint64_t marked = 0;
  std::uint64_t bytes_delivered = 0;
};

}  // namespace sheaf::quic
