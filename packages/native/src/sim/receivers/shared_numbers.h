#pragma once

#include <cstddef>
#include <cstdint>

#include "sim/receivers/receiver_model.h"
#include "util/time.h"

namespace sheaf::quic {

// Decides how long a sender waits before it sends a run, and learns from the client's ACKs.
class RunTiming {
 public:
  virtual ~RunTiming() = default;
  // Returns how long what `sender` is given now waits. The gateway's own packets are those of the
  // sender behind the last one.
  virtual Duration wait(std::size_t sender, Time now) = 0;
  // Takes the time from the end of the wait to the ACK of a sender's newest packet.
  virtual void on_sample(std::size_t sender, Duration round_trip, Time now) = 0;
};

// A connection whose packets come from several senders with the gateway's address. The gateway
// allocates all packet numbers. It sends only ACKs itself, always numbered above all that it gave
// out before.
struct SharedNumbers {
  enum class Sending : std::uint8_t {
    // The gateway gives a run away when it is due, to any sender, which sends it in one burst.
    kWholeRuns,
    // Every sender has a range of its own, spends it at its share of the rate, and then gets the
    // next: the design of QDSR, appendix A.
    kOwnRanges,
  };

  std::size_t senders = 2;
  std::size_t run = 32;  // numbers that a sender gets together
  Sending sending = Sending::kWholeRuns;
  std::size_t runs_together = 1;  // whole runs that leave the gateway at one instant
  std::uint64_t rate = 8'400;     // packets per second of all senders
  Duration delay = 20ms;          // one way between the client and the nearest sender, and back
  Duration spread{};              // how much later the farthest sender's packets arrive
  // How long the gateway waits before it acknowledges a packet of the client that carried an ACK
  Duration hold{};
  // One ACK of the client in this number rides on a packet that elicits one. Chromium adds a PING
  // to the twentieth (kMaxConsecutiveNonRetransmittablePackets); others send MAX_DATA at times.
  std::size_t elicit_every = 20;
  std::size_t packets = 6'000;  // of all senders
  RunTiming* timing = nullptr;  // of whole runs. Null: none waits
  Duration jitter{};            // up to which each run of a sender comes later at random
};

struct SharedNumbersResult {
  std::size_t refused = 0;           // packets with data that the client did not read
  std::size_t acknowledgements = 0;  // that the client sent
  std::size_t most_ranges = 0;       // that the client kept at any time
  std::uint64_t deepest = 0;         // farthest below the largest number that a packet arrived
  bool closed = false;               // by the client
};

// Delivers all packets over links without loss. The seed decides which sender gets which run, or
// when each begins with its ranges.
SharedNumbersResult deliver(const SharedNumbers& config, ReceiverModel& client, std::uint64_t seed);

}  // namespace sheaf::quic
