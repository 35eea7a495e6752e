#include "channel/source_keys.h"

#include <algorithm>

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
      current_(drawn(suite_, 0, first, random)),
      sealing_(header, current_) {}

const ChannelSecret* SourceKeys::first_from(std::uint64_t sequence) const {
  if (previous_ && previous_->sequence >= sequence) return &*previous_;
  if (current_.sequence >= sequence) return &current_;
  return next_ && next_->sequence >= sequence ? &*next_ : nullptr;
}

void SourceKeys::advance(Time now) {
  if (choice_ == k_never) choice_ = now + interval_ / 2;
  if (next_ && sealing_.next_number() == next_->first_number && sealing_.change(*next_)) {
    previous_ = current_;
    current_ = *next_;
    next_.reset();
    choice_ = now + interval_ / 2;
  }
  if (next_ || (now < choice_ && !sealing_.wants_new_key())) return;
  // As many packets as the time since the last change brought, which was half an interval or more.
  const PacketNumber sealed_end = sealing_.next_number();
  const PacketNumber lead = std::clamp(sealed_end - current_.first_number, k_min_lead, k_max_lead);
  next_ = drawn(suite_, current_.sequence + 1, sealed_end + lead, random_);
}

}  // namespace sheaf::quic
