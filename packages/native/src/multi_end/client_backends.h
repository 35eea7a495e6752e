#pragma once

#include "multi_end/backend_table.h"
#include "multi_end/backends.h"
#include "multi_end/path_rules.h"
#include "multi_end/silence_watch.h"

namespace sheaf::quic {

// The client's policy: opens paths to the backends that the primary offers, and abandons those that
// fail.
class ClientBackends final : public PathPolicy {
 public:
  explicit ClientBackends(ConnectionExtension connection)
      : connection_(connection), watch_(connection, table_) {}

  // multi_end/backends.h documents these.
  Result<PathId, BackendRefusal> open(BackendId backend, const Address& local, Time now);
  const BackendTable& table() const { return table_; }

  TransportStatus on_frame(PathEntry& entry, const Frame& frame, Time now) override;
  bool on_violation(const TransportError& error, Time now) override;
  void on_abandoned(PathEntry& entry, Time now) override;
  Frame abandonment_frame(const PathEntry& entry) const override;
  void on_forgotten(PathId path) override { table_.forget_path(path); }
  bool takes_streams(const PathEntry& entry) const override;
  bool may_update_keys() const override;
  Time next_timeout() const override { return watch_.next_timeout(); }
  void on_timeout(Time now) override { watch_.on_timeout(now); }

 private:
  TransportStatus on_offer(const BackendOfferFrame& frame);
  TransportStatus on_withdraw(const BackendWithdrawFrame& frame, Time now);
  // Assigns the path to the backend.
  void take_path(PathEntry& entry, BackendId backend);

  ConnectionExtension connection_;
  BackendTable table_;
  SilenceWatch watch_;
};

}  // namespace sheaf::quic
