#include "channel/source_keys.h"

#include <algorithm>
#include <cassert>

namespace sheaf::quic {

SourceKeys::SourceKeys(const TrafficSecret& header, const KeySchedule& schedule, PacketNumber first,
                       Random& random)
    : schedule_(schedule),
      random_(random),
      suite_(header.suite),
      keys_{drawn(0, first)},
      sealing_(header, keys_[0].secret) {
  set_notice(schedule.notice);
  keys_.reserve(k_max_used + 1);
}

SourceKeys::Key SourceKeys::drawn(std::uint64_t sequence, PacketNumber first) {
  Key key{.secret = {}, .serial = next_serial_++};
  key.secret.sequence = sequence;
  key.secret.first_number = first;
  TrafficSecret& secret = key.secret.secret;
  secret.suite = suite_;
  secret.length = secret_length(suite_);
  random_.fill(MutableBytes(secret.bytes).first(secret.length));
  return key;
}

// --- which key ----------------------------------------------------------------------------------

const SourceKeys::Key* SourceKeys::first_from(std::uint64_t serial) const {
  const auto found = std::ranges::lower_bound(keys_, serial, {}, &Key::serial);
  return found == keys_.end() ? nullptr : &*found;
}

const SourceKeys::Key& SourceKeys::key_of(PacketNumber number) const {
  const auto above = std::ranges::upper_bound(keys_, number, {}, first_of);
  return *(above == keys_.begin() ? above : above - 1);
}

PacketNumber SourceKeys::same_key_end(PacketNumber number) const {
  const auto above = std::ranges::upper_bound(keys_, number, {}, first_of);
  return above == keys_.end() ? k_no_packet_number : first_of(*above);
}

// --- changes ------------------------------------------------------------------------------------

void SourceKeys::begin_next(Time now) {
  [[maybe_unused]] const bool changed = sealing_.change(keys_.back().secret);
  assert(changed && "its sequence and first number are the next");
  choice_ = now + schedule_.interval / 2;
  if (keys_.size() > k_max_used) keys_.erase(keys_.begin());
}

void SourceKeys::advance(Time now) {
  if (choice_ == k_never) choice_ = now + schedule_.interval / 2;
  const PacketNumber next_number = sealing_.next_number();
  if (has_next() && first_of(keys_.back()) == next_number) begin_next(now);
  if (left_ && now < held_until_) held_back_ = true;
  if (now >= leaving_due()) return choose_for_who_stays(now);
  if (has_next() || (now < choice_ && !sealing_.wants_new_key())) return;
  // As many packets as the time since the last change brought, which was half an interval or more.
  const PacketNumber lead =
      std::clamp(next_number - first_of(keys_.back()), k_min_lead, k_max_lead);
  choose(next_number + lead, now);
}

void SourceKeys::choose(PacketNumber first, Time now) {
  keys_.push_back(drawn(sealing_.sequence() + 1, first));
  chosen_ = now;
}

// A next key that begins too soon is not replaced: some would have the new one too late. It has
// begun before another one is chosen.
Time SourceKeys::leaving_due() const {
  const PacketNumber first = sealing_.next_number() + schedule_.notice;
  const bool begins_too_soon = has_next() && first_of(keys_.back()) < first;
  return left_ && !begins_too_soon ? held_until_ : k_never;
}

void SourceKeys::choose_for_who_stays(Time now) {
  left_ = false;
  // Where receivers come and go all the time, keys change as often as they do anyway.
  hold_ = held_back_ ? std::min(2 * hold_, schedule_.interval) : schedule_.hold;
  held_back_ = false;
  held_until_ = now + hold_;
  // Who left has the next key already, so it is never used.
  if (has_next()) keys_.pop_back();
  choose(sealing_.next_number() + schedule_.notice, now);
}

Time SourceKeys::next_timeout() const {
  return std::min(has_next() ? k_never : choice_, leaving_due());
}

PacketNumber SourceKeys::overdue(Time now) const {
  if (!has_next() || now < chosen_ + schedule_.interval / 2) return 0;
  return first_of(keys_.back()) - sealing_.next_number();
}

}  // namespace sheaf::quic
