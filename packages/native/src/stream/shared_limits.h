#pragma once

#include "stream/stream_set_config.h"
#include "util/time.h"

namespace sheaf::quic {

struct StreamParts;

// Presents the limits of a connection to the primary and to the client, which share them with
// backends (docs/internals/multi-end.md). The primary leases parts of the limits to backends and
// settles the leases. The client tolerates servers that used more than their part.
class SharedLimits {
 public:
  explicit SharedLimits(StreamParts& parts) : parts_(parts) {}

  // --- primary -------------------------------------------------------------------------------
  // Returns the number of bytes that may be sent here, or leased out.
  std::uint64_t credit() const;
  // Returns whether some stream here waits for credit of the connection rather than of the stream.
  bool needs_credit() const;
  // Called when a backend received MAX_DATA from the client.
  void raise_credit(std::uint64_t limit);
  // Takes credit and ids away from this side for a lease, as far as there are any.
  StreamLease lease_out(const StreamLease& wanted);
  // Settles a lease: of `leased` bytes, `used` were sent. `used` is larger when the backend lied.
  void settle(std::uint64_t leased, std::uint64_t used);
  // Counts bytes that a backend's application read, and streams of the client that the backend
  // closed.
  void count_elsewhere(std::uint64_t consumed, std::uint64_t streams_closed, Time now);

  // --- client --------------------------------------------------------------------------------
  // Returns whether the last frame exceeded the limit of the connection.
  bool exceeded() const;
  // Lets the primary use all that it was granted, although some backend may have used more than its
  // part.
  void tolerate();

 private:
  StreamParts& parts_;
};

}  // namespace sheaf::quic
