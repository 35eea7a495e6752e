#pragma once

#include <memory>
#include <optional>
#include <span>

#include "util/time.h"
#include "wire/types.h"

namespace sheaf::quic {

// A path as a scheduler sees it. Sizes in bytes.
struct PathSnapshot {
  PathId id{};
  Duration smoothed_rtt{};
  Duration rtt_variance{};
  std::uint64_t window = 0;
  // What it carries in a round trip: the window, or less where the controller paces below it.
  std::uint64_t capacity = 0;
  std::uint64_t in_flight = 0;
  // What may leave now under window, pacer and anti-amplification.
  std::uint64_t sendable = 0;
  std::uint64_t datagram_size = 0;
  std::uint32_t weight = 1;
  // The peer or the application wants it used only when nothing else works (RFC 10069 §3.3).
  bool backup = false;
  // A probe timeout passed since it last acknowledged something.
  bool suspect = false;

  bool can_send() const { return sendable >= datagram_size; }
};

// What waits for a path.
struct SendDemand {
  std::uint64_t unsent_bytes = 0;
  std::uint64_t flow_credit = 0;  // that the connection's flow control still allows
};

// Decides which path the next packet with connection data takes. Knows no connection: const
// snapshots in, a decision out. Acknowledgements, probes and path validation are not its affair.
class PathScheduler {
 public:
  virtual ~PathScheduler() = default;
  // Index of the path, which can send; nothing: wait until a path's state changes. `paths` are
  // those of `usable_paths`, in order of their ids, at least one.
  virtual std::optional<std::size_t> select(std::span<const PathSnapshot> paths,
                                            const SendDemand& demand) = 0;
  virtual void on_sent(PathId path, std::uint64_t bytes) {
    static_cast<void>(path);
    static_cast<void>(bytes);
  }
  // Everything goes on every path.
  virtual bool duplicates() const { return false; }
};

enum class PathSchedulerKind : std::uint8_t {
  kEcf,         // earliest completion first
  kMinRtt,      // lowest round trip first
  kRoundRobin,  // in turn
  kWeighted,    // in turn, by weight
  kBlest,       // avoids blocking at the head of the line
  kRedundant,   // each packet on all paths
  kBackupOnly,  // one path, the others when it fails
};
std::unique_ptr<PathScheduler> make_path_scheduler(PathSchedulerKind kind);

// Moves the paths worth using to the front, keeping their order, and returns how many there are:
// no backup while another works, no suspect one while there is another (RFC 10069 §3.3).
std::size_t usable_paths(std::span<PathSnapshot> paths);

}  // namespace sheaf::quic
