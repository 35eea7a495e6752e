#pragma once

#include "connection/parts.h"

namespace sheaf::quic {

// A backend's policy. It takes part in a connection at one path, which it was handed, and ends with
// that path.
class OwnPath final : public PathPolicy {
 public:
  explicit OwnPath(ConnectionParts& parts) : parts_(parts) {}

  void on_abandoned(PathEntry& entry, Time now) override;
  bool may_update_keys() const override { return parts_.keys.mode() != KeyMode::kShared; }

 private:
  ConnectionParts& parts_;
};

}  // namespace sheaf::quic
