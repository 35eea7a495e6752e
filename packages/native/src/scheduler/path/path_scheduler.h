#pragma once

#include <memory>
#include <optional>
#include <span>

#include "scheduler/path/path_snapshot.h"

namespace sheaf::quic {

// The data that waits for a path
struct SendDemand {
  // Unsent bytes; UINT64_MAX when no end is known, since a full send buffer does not mean that
  // little is left
  std::uint64_t unsent_bytes = 0;
  std::uint64_t flow_credit = 0;  // what the connection's flow control still allows
};

// Decides which path the next packet with connection data takes. It knows no connection: it gets
// const snapshots, and returns a decision. It does not decide about acknowledgements, probes and
// path validation.
class PathScheduler {
 public:
  virtual ~PathScheduler() = default;
  // Returns the index of a path that can send, or nothing to wait until a path's state changes.
  // `paths` come from `usable_paths`, at least one, in order of their ids.
  virtual std::optional<std::size_t> select(std::span<const PathSnapshot> paths,
                                            const SendDemand& demand) = 0;
  virtual void on_sent(PathId path, std::uint64_t bytes) {
    static_cast<void>(path);
    static_cast<void>(bytes);
  }
  // Whether every path carries everything
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

// Moves the paths worth using to the front, in their order, and returns how many there are: no
// backup while another path works, and no suspect path while there is another (RFC 10069 §3.3).
std::size_t usable_paths(std::span<PathSnapshot> paths);

}  // namespace sheaf::quic
