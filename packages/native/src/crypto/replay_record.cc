#include "crypto/replay_record.h"

#include <utility>

namespace sheaf::quic {

bool ReplayRecord::add(Bytes key) {
  Identity identity;
  if (key.size() < k_period_length + identity.size()) return false;
  Period period;
  std::memcpy(period.data(), key.data(), period.size());
  std::memcpy(identity.data(), key.last(identity.size()).data(), identity.size());
  if (period != period_) {
    period_ = period;
    seen_before_ = std::exchange(seen_, {});
  }
  if (seen_.size() >= k_capacity || seen_before_.contains(identity)) return false;
  return seen_.insert(identity).second;
}

}  // namespace sheaf::quic
