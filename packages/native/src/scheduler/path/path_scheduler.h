#pragma once

#include <memory>
#include <optional>
#include <span>

#include "scheduler/path/path_snapshot.h"

namespace sheaf::quic {

// What waits for a path.
struct SendDemand {
  // UINT64_MAX: without an end in sight. A full send buffer is no sign that little is left.
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
