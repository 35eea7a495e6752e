#pragma once

#include "connection/connection_extension.h"

namespace sheaf::quic {

// A backend's policy. It takes part in a connection at one path, which it was handed, and ends with
// that path.
class OwnPath final : public PathPolicy {
 public:
  explicit OwnPath(ConnectionExtension connection) : connection_(connection) {}

  void on_abandoned(PathEntry& entry, Time now) override;
  bool may_update_keys() const override { return connection_.keys().mode() != KeyMode::kShared; }

 private:
  ConnectionExtension connection_;
};

}  // namespace sheaf::quic
