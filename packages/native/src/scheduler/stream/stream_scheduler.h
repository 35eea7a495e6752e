#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "scheduler/path/path_snapshot.h"
#include "scheduler/stream/stream_priority.h"
#include "wire/types.h"

namespace sheaf::quic {

// A packet that could leave
struct SendOpportunity {
  PathId path{};  // path that would carry it
  // All paths that are worth using, in order of their ids; empty if there is only one
  std::span<const PathSnapshot> paths{};
};

// The data that was put into a packet
struct SentData {
  std::uint64_t bytes = 0;
  std::uint64_t remaining = 0;  // of the stream, after this
};

// Decides which stream's data goes into the next packet. It knows streams only by id, and can be
// tested without a connection. Each call is O(log n) or better, and allocates nothing in steady
// state.
class StreamScheduler {
 public:
  virtual ~StreamScheduler() = default;

  // --- what the client said; until `forget`, whether the stream is active or not ----------------
  virtual void set_priority(StreamId stream, const StreamPriority& priority) = 0;
  // Sets the place of a node without a stream. Bounded: the oldest nodes are removed.
  virtual void set_group(const Dependency& group) { static_cast<void>(group); }
  // Forgets a stream that has ended. What depends on its node moves to the node's parent.
  virtual void forget(StreamId stream) = 0;

  // --- what there is to send --------------------------------------------------------------------
  // The stream has data that flow control allows, and `remaining` bytes to its end, as far as is
  // known. Told again when `remaining` changes otherwise than by `on_sent`.
  virtual void activate(StreamId stream, std::uint64_t remaining) = 0;
  virtual void deactivate(StreamId stream) = 0;
  // Returns an active stream, or nothing to leave this path idle for now, until the state of a path
  // changes. With only one path, always returns a stream if one is active.
  virtual std::optional<StreamId> next(const SendOpportunity& opportunity) = 0;
  // Notes what was sent of the stream that `next` returned. Call it before any other function.
  virtual void on_sent(StreamId stream, const SentData& sent,
                       const SendOpportunity& opportunity) = 0;
};

// The schedulers. Those of Nguyen et al. §2.4 and §3.3 (docs/internals/stream-schedulers.md) exist
// as the paper describes them, and where the program released with it differs, also in that form.
enum class StreamSchedulerKind : std::uint8_t {
  kExtensible,              // RFC 9218 §10: urgency, then id or in turn
  kFcfs,                    // first come, first served: the one that had data first, to its end
  kRoundRobin,              // RR (§2.4): packet by packet, no priorities
  kWeighted,                // WRR (§2.4): tree, siblings by weight, spread over the round
  kWeightedBurst,           // WRR as released: a quantum of weight packets in one visit
  kScattered,               // sWRR (§2.4): tokens weight * 10 / greatest weight, one at a time
  kScatteredReleased,       // sWRR as released: one token each
  kDataSize,                // dWRR (§3.3): groups of equal priority by share, the smallest first
  kDataSizeRootOnly,        // dWRR as released: bursts, sorted among the children of the root only
  kStreamAwareEcf,          // SA-ECF (§2.4, reference 14): WRR order, waits for the fastest path
  kCriticalFirst,           // ours: heaviest first to its end, the smallest among equals
  kStreamAwareEcfReleased,  // SA-ECF as released: looks no further than one window of that path
};
std::unique_ptr<StreamScheduler> make_stream_scheduler(StreamSchedulerKind kind);

// All schedulers, with their names in configurations and reports
struct NamedStreamScheduler {
  std::string_view name;
  StreamSchedulerKind kind;
};
inline constexpr NamedStreamScheduler k_all_stream_schedulers[] = {
    {"critical-first", StreamSchedulerKind::kCriticalFirst},
    {"rfc9218", StreamSchedulerKind::kExtensible},
    {"fcfs", StreamSchedulerKind::kFcfs},
    {"rr", StreamSchedulerKind::kRoundRobin},
    {"wrr", StreamSchedulerKind::kWeighted},
    {"wrr-burst", StreamSchedulerKind::kWeightedBurst},
    {"swrr", StreamSchedulerKind::kScattered},
    {"swrr-released", StreamSchedulerKind::kScatteredReleased},
    {"dwrr", StreamSchedulerKind::kDataSize},
    {"dwrr-root-only", StreamSchedulerKind::kDataSizeRootOnly},
    {"sa-ecf", StreamSchedulerKind::kStreamAwareEcf},
    {"sa-ecf-released", StreamSchedulerKind::kStreamAwareEcfReleased},
};
std::optional<StreamSchedulerKind> stream_scheduler_named(std::string_view name);

}  // namespace sheaf::quic
