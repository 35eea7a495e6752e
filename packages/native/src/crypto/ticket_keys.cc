#include "crypto/ticket_keys.h"

#include <gnutls/crypto.h>

#include <algorithm>

#include "crypto/wipe.h"

namespace sheaf::quic {

TicketKeys::~TicketKeys() {
  wipe(current_);
  wipe(previous_);
}

void TicketKeys::fix(const TicketKey& key) {
  fixed_ = true;
  current_ = Keys{};
  current_->secret = key;
}

std::optional<TicketKeys::Generation> TicketKeys::current(Time now) {
  if (fixed_) return current_->number;
  if (previous_ && now - previous_->begun >= 2 * k_lifetime) wipe(previous_);
  // The clock was set back.
  if (current_ && now < current_->begun) current_->begun = now;
  if ((!current_ || now - current_->begun >= k_lifetime) && !renew(now)) return std::nullopt;
  return current_->number;
}

bool TicketKeys::renew(Time now) {
  Wiped<TicketKey> secret;
  if (gnutls_rnd(GNUTLS_RND_KEY, secret.value.data(), secret.value.size()) < 0) return false;
  wipe(previous_);
  const Generation number = current_ ? current_->number + 1 : 0;
  if (current_ && now - current_->begun < 2 * k_lifetime) previous_ = *current_;
  wipe(current_);
  current_ = Keys{.number = number, .begun = now};
  current_->secret = secret.value;
  return true;
}

std::optional<TicketKeys::Generation> TicketKeys::of(Bytes ticket, Time now) {
  const auto latest = current(now);
  const auto name = name_of(ticket);
  if (latest && name && previous_ && knows(*previous_, *name)) return previous_->number;
  return latest;
}

TicketKey TicketKeys::key(Generation generation, Bytes binding) const {
  const Keys& keys = previous_ && previous_->number == generation ? *previous_ : *current_;
  TicketKey key{};  // exactly as long as a SHA-512
  const int result = gnutls_hmac_fast(GNUTLS_MAC_SHA512, keys.secret.data(), keys.secret.size(),
                                      binding.data(), binding.size(), key.data());
  // Nobody may know the key of a ticket. A random one opens none.
  if (result < 0) gnutls_rnd(GNUTLS_RND_KEY, key.data(), key.size());
  return key;
}

void TicketKeys::note(Generation generation, Bytes ticket) {
  const auto name = name_of(ticket);
  if (!name) return;
  for (std::optional<Keys>* keys : {&current_, &previous_}) {
    if (!*keys || (*keys)->number != generation) continue;
    std::vector<Name>& names = (*keys)->names;
    std::erase(names, *name);
    if (names.size() == k_max_names) names.erase(names.begin());
    names.push_back(*name);
  }
}

std::optional<TicketKeys::Name> TicketKeys::name_of(Bytes ticket) {
  Name name{};
  if (ticket.size() < name.size()) return std::nullopt;
  std::copy_n(ticket.begin(), name.size(), name.begin());
  return name;
}

bool TicketKeys::knows(const Keys& keys, const Name& name) {
  return std::ranges::find(keys.names, name) != keys.names.end();
}

void TicketKeys::wipe(std::optional<Keys>& keys) {
  if (keys) gnutls_memset(keys->secret.data(), 0, keys->secret.size());
  keys.reset();
}

}  // namespace sheaf::quic
