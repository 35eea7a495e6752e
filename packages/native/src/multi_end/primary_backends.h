#pragma once

#include "connection/connection_extension.h"
#include "multi_end/backend_table.h"
#include "multi_end/backends.h"
#include "multi_end/path_rules.h"

namespace sheaf::quic {

// The primary's policy: hands over paths to backends, and offers the backends to the client.
class PrimaryBackends final : public PathPolicy {
 public:
  explicit PrimaryBackends(ConnectionExtension connection) : connection_(connection) {}

  // multi_end/backends.h documents these.
  Result<BackendSeed, BackendRefusal> hand_over(BackendId backend, const Address& address,
                                                const StreamLease& wanted);
  FreePaths free_paths() const;
  Status<BackendRefusal> offer(BackendId backend);
  Status<BackendRefusal> withdraw(BackendId backend, std::uint64_t reason, Time now);
  const BackendTable& table() const { return table_; }

  TransportStatus on_frame(PathEntry& entry, const Frame& frame, Time now) override;
  void write_frames(Writer& writer, SentPackets& sent) override;
  void on_frame_lost(const SentFrame& frame) override;
  void on_abandoned(PathEntry& entry, Time now) override;
  void on_forgotten(PathId path) override { table_.forget_path(path); }
  bool may_update_keys() const override;

 private:
  bool untouched(const PathEntry& entry) const;
  bool free(const PathEntry& entry) const;
  BackendSeed make_seed(BackendId backend, const PathEntry& entry, PathHandOver keys,
                        const StreamLease& wanted);
  TransportStatus on_abandon_frame(const BackendAbandonFrame& frame, Time now);
  void announce(BackendRecord& record);

  ConnectionExtension connection_;
  BackendTable table_;
};

}  // namespace sheaf::quic
