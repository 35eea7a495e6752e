#include "crypto/traffic_secret.h"

#include "crypto/wipe.h"

namespace sheaf::quic {

TrafficSecret::~TrafficSecret() { wipe(bytes.data(), bytes.size()); }

}  // namespace sheaf::quic
