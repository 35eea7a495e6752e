#pragma once

#include "connection/backend_seed.h"
#include "connection/parts.h"

namespace sheaf::quic {

// Several servers on one connection (docs/internals/multi-end.md): the primary hands paths over and
// offers them, the client opens them and notices when one is silent.
class BackendManagement {
 public:
  // How long nothing is heard from a backend with open streams before it is asked for a sign of
  // life, and from the primary while backends have open streams; how long they may fail to answer
  // probes. Each at least three probe timeouts.
  static constexpr Duration k_quiet = std::chrono::milliseconds(500);
  static constexpr Duration k_quiet_primary = std::chrono::seconds(1);
  static constexpr Duration k_silence = std::chrono::seconds(2);
  // How long a stream may wait for credit while the primary is lost.
  static constexpr Duration k_starved = std::chrono::milliseconds(500);

  BackendManagement(Connection::Parts& parts, Time now) : parts_(parts), now_(now) {}

  // Both sides announced multi_end with a key mode in common.
  void enable(const TransportParameters& peer);

  // --- primary ----------------------------------------------------------------------------------
  Result<BackendSeed, BackendRefusal> hand_over(BackendId backend, const Address& address,
                                                const StreamLease& wanted);
  Connection::FreePaths free_paths() const;
  Status<BackendRefusal> offer(BackendId backend);
  Status<BackendRefusal> withdraw(BackendId backend, std::uint64_t reason);
  void write_frames(Writer& writer, SentPackets& sent);
  void on_frame_lost(const SentFrame& frame);
  // The client gave the path up; at the primary, with its account of it.
  TransportStatus on_frame(const BackendAbandonFrame& frame);
  void on_abandoned(const PathEntry& entry);

  // --- client -----------------------------------------------------------------------------------
  Result<PathId, BackendRefusal> open(BackendId backend, const Address& local);
  // No new streams for it.
  bool withdrawn(const PathEntry& entry) const;
  // The primary exceeded the connection's limit, perhaps since a backend used more than its lease:
  // the backends lose their paths, and the packet comes again. False when there are none.
  bool blame_for(const TransportError& error);
  TransportStatus on_frame(const BackendOfferFrame& frame);
  TransportStatus on_frame(const BackendWithdrawFrame& frame);
  Time next_timeout() const;
  void on_timeout();

 private:
  bool untouched(const PathEntry& entry) const;
  bool free(const PathEntry& entry) const;
  Time quiet_deadline(const PathEntry& entry) const;
  bool asks_backends() const;
  Time silence_deadline(const PathEntry& entry) const;
  // When the last path to the primary has been silent for long; only backends are left then.
  Time primary_deadline() const;
  Time starved_deadline(const PathEntry& entry) const;

  Connection::Parts& parts_;
  Time now_;
};

}  // namespace sheaf::quic
