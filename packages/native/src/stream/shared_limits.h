#pragma once

#include "stream/stream_set_config.h"
#include "util/time.h"

namespace sheaf::quic {

struct StreamParts;

// The connection's limits at those who share them with backends (docs/internals/multi-end.md). The
// primary leases parts of them out and settles what became of those; the client allows for servers
// that used more than their part.
class SharedLimits {
 public:
  explicit SharedLimits(StreamParts& parts) : parts_(parts) {}

  // --- primary -------------------------------------------------------------------------------
  // In bytes: what may be sent here, or leased out.
  std::uint64_t credit() const;
  // Some stream here waits for credit of the connection, not for that of the stream.
  bool needs_credit() const;
  // A backend heard the client's MAX_DATA.
  void raise_credit(std::uint64_t limit);
  // Takes credit and ids out of what may be used here: as much as there is.
  StreamLease lease_out(const StreamLease& wanted);
  // Accounts for a lease: `used` of `leased` bytes were sent, more when the backend lied.
  void settle(std::uint64_t leased, std::uint64_t used);
  // Bytes that a backend's application read, and client's streams that it closed.
  void count_elsewhere(std::uint64_t consumed, std::uint64_t streams_closed, Time now);

  // --- client --------------------------------------------------------------------------------
  // The connection's limit is what the last frame exceeded.
  bool exceeded() const;
  // Some backend may have used more than it had: the primary may use what it was granted all the
  // same.
  void tolerate();

 private:
  StreamParts& parts_;
};

}  // namespace sheaf::quic
