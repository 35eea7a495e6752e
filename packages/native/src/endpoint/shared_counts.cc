#include "endpoint/shared_counts.h"

#include <algorithm>

namespace sheaf::quic {

std::size_t SharedCounts::count(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  const auto found = counts_.find(name);
  return found == counts_.end() ? 0 : found->second;
}

bool SharedCounts::take_turn(const std::string& name, std::uint64_t per_second, Time now) {
  const auto rate = static_cast<double>(per_second);
  const std::lock_guard lock(mutex_);
  TokenBucket& turns = turns_.try_emplace(name, rate, rate).first->second;
  // Limits may change while the threads run, in one after the other.
  turns.set_bounds(rate, rate);
  return turns.take(now);
}

void SharedCounts::give_locked(const std::string& name, std::size_t count) {
  const auto found = counts_.find(name);
  if (found == counts_.end()) return;
  found->second -= std::min(found->second, count);
  if (found->second == 0) counts_.erase(found);
}

void HeldCounts::give_all() {
  const std::lock_guard lock(all_->mutex_);
  for (const auto& [name, count] : held_) all_->give_locked(name, count);
  held_.clear();
}

std::optional<std::size_t> HeldCounts::take(std::span<const SharedCounts::Claim> claims) {
  const std::lock_guard lock(all_->mutex_);
  for (std::size_t i = 0; i < claims.size(); ++i) {
    const auto found = all_->counts_.find(claims[i].name);
    const std::size_t count = found == all_->counts_.end() ? 0 : found->second;
    if (count >= claims[i].most) return i;
  }
  for (const SharedCounts::Claim& claim : claims) {
    ++all_->counts_[claim.name];
    ++held_[claim.name];
  }
  return std::nullopt;
}

void HeldCounts::give(const std::string& name) {
  const auto found = held_.find(name);
  if (found == held_.end()) return;
  if (--found->second == 0) held_.erase(found);
  const std::lock_guard lock(all_->mutex_);
  all_->give_locked(name, 1);
}

}  // namespace sheaf::quic
