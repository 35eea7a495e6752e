#include "channel/source_keys.h"

#include <algorithm>
#include <cassert>

namespace sheaf::quic {
namespace {

ChannelSecret drawn(CipherSuite suite, std::uint64_t sequence, PacketNumber first, Random& random) {
  ChannelSecret secret;
  secret.sequence = sequence;
  secret.first_number = first;
  secret.secret.suite = suite;
  secret.secret.length = secret_length(suite);
  random.fill(MutableBytes(secret.secret.bytes).first(secret.secret.length));
  return secret;
}

}  // namespace

SourceKeys::SourceKeys(const TrafficSecret& header, Duration interval, PacketNumber first,
                       Random& random)
    : interval_(interval),
      random_(random),
      suite_(header.suite),
      keys_{drawn(suite_, 0, first, random)},
      sealing_(header, keys_[0]) {
  keys_.reserve(k_max_used + 1);
}

const ChannelSecret* SourceKeys::first_from(std::uint64_t sequence) const {
  const auto found = std::ranges::lower_bound(keys_, sequence, {}, &ChannelSecret::sequence);
  return found == keys_.end() ? nullptr : &*found;
}

std::uint64_t SourceKeys::sequence_of(PacketNumber number) const {
  const auto above = std::ranges::upper_bound(keys_, number, {}, &ChannelSecret::first_number);
  return (above == keys_.begin() ? above : above - 1)->sequence;
}

PacketNumber SourceKeys::same_key_end(PacketNumber number) const {
  const auto above = std::ranges::upper_bound(keys_, number, {}, &ChannelSecret::first_number);
  return above == keys_.end() ? k_no_packet_number : above->first_number;
}

void SourceKeys::begin_newest(Time now) {
  [[maybe_unused]] const bool changed = sealing_.change(keys_.back());
  assert(changed && "its sequence and first number are the next");
  choice_ = now + interval_ / 2;
  if (keys_.size() > k_max_used) keys_.erase(keys_.begin());
}

void SourceKeys::advance(Time now) {
  if (choice_ == k_never) choice_ = now + interval_ / 2;
  const PacketNumber next_number = sealing_.next_number();
  if (has_next() && keys_.back().first_number == next_number) begin_newest(now);
  if (has_next() || (now < choice_ && !sealing_.wants_new_key())) return;
  // As many packets as the time since the last change brought, which was half an interval or more.
  const ChannelSecret& present = keys_.back();
  const PacketNumber lead = std::clamp(next_number - present.first_number, k_min_lead, k_max_lead);
  keys_.push_back(drawn(suite_, present.sequence + 1, next_number + lead, random_));
}

std::uint64_t SourceKeys::change_now(Time now) {
  const PacketNumber next_number = sealing_.next_number();
  std::uint64_t sequence = keys_.back().sequence + 1;
  for (; !keys_.empty() && keys_.back().first_number >= next_number; keys_.pop_back()) {
    sequence = keys_.back().sequence;
  }
  keys_.push_back(drawn(suite_, sequence, next_number, random_));
  begin_newest(now);
  return sequence;
}

}  // namespace sheaf::quic
