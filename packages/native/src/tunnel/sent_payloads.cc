#include "tunnel/sent_payloads.h"

#include <utility>

namespace sheaf::quic {

namespace {

constexpr std::size_t k_spare_buffers = 256;
// Places from the oldest of unknown fate on. A peer that acknowledges all but that one would make
// them grow otherwise.
constexpr std::size_t k_max_places = 16'384;

}  // namespace

std::uint64_t SentPayloads::keep(Bytes payload, std::uint64_t owner) {
  std::vector<std::uint8_t> buffer;
  if (!spare_.empty()) {
    buffer = std::move(spare_.back());
    spare_.pop_back();
  }
  buffer.assign(payload.begin(), payload.end());
  bytes_ += payload.size();
  ++size_;
  kept_.push_back({.payload = std::move(buffer), .owner = owner});
  while ((bytes_ > limit_ || kept_.size() > k_max_places) && kept_.size() > 1) {
    ++forgotten_;
    release(first_);
  }
  return first_ + kept_.size() - 1;
}

std::optional<SentPayloads::Lost> SentPayloads::take_lost(std::uint64_t identifier) {
  if (!holds(identifier)) return std::nullopt;
  Kept& kept = kept_[identifier - first_];
  std::swap(lost_, kept.payload);
  bytes_ -= lost_.size();
  --size_;
  kept.known = true;
  const std::uint64_t owner = kept.owner;
  drop_settled();
  return Lost{owner, lost_};
}

std::optional<Bytes> SentPayloads::to_copy(std::uint8_t copies) {
  for (copied_ = 0; copied_ < kept_.size(); ++copied_) {
    const Kept& kept = kept_[copied_];
    if (!kept.known && kept.copies < copies) return Bytes(kept.payload);
  }
  return std::nullopt;
}

void SentPayloads::release_spare() {
  spare_ = {};
  if (kept_.empty()) kept_.clear_and_keep(0);
  lost_ = {};
}

void SentPayloads::release(std::uint64_t identifier) {
  if (!holds(identifier)) return;
  Kept& kept = kept_[identifier - first_];
  bytes_ -= kept.payload.size();
  --size_;
  kept.known = true;
  if (spare_.size() < k_spare_buffers) spare_.push_back(std::move(kept.payload));
  drop_settled();
}

void SentPayloads::drop_settled() {
  while (!kept_.empty() && kept_.front().known) {
    kept_.pop_front();
    ++first_;
  }
}

}  // namespace sheaf::quic
