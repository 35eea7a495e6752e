#include "connection/path_policy_choice.h"

#include "connection/connection_extension.h"

namespace sheaf::quic {

std::unique_ptr<PathPolicy> PathPolicyChoice::agree(ConnectionExtension connection,
                                                    const TransportParameters& peer) const {
  auto policy = preferred_.agree(connection, peer);
  return policy ? std::move(policy) : other_.agree(connection, peer);
}

}  // namespace sheaf::quic
