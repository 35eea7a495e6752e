#pragma once

#include <algorithm>
#include <memory>

#include "connection/path_policy.h"

namespace sheaf::quic {

// Offers two extensions. A connection has the first one on which both sides agree. What each offers
// must not contradict the other.
class PathPolicyChoice final : public PathPolicyFactory {
 public:
  // Both outlive this object.
  PathPolicyChoice(const PathPolicyFactory& preferred, const PathPolicyFactory& other)
      : preferred_(preferred), other_(other) {}

  void offer(TransportParameters& own) const override {
    preferred_.offer(own);
    const auto most = own.initial_max_path_id;
    other_.offer(own);
    own.initial_max_path_id = std::max(own.initial_max_path_id, most);
  }
  std::unique_ptr<PathPolicy> agree(ConnectionExtension connection,
                                    const TransportParameters& peer) const override;

 private:
  const PathPolicyFactory& preferred_;
  const PathPolicyFactory& other_;
};

}  // namespace sheaf::quic
