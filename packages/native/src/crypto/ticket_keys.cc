#include "crypto/ticket_keys.h"

#include <gnutls/crypto.h>

#include <algorithm>
#include <string>

namespace sheaf::quic {

void TicketKeys::derive_from(ServerSecrets secrets) {
  secrets_ = std::move(secrets);
  keys_.clear();
}

std::optional<TicketKeys::Generation> TicketKeys::current(Time now) {
  if (!secrets_.empty()) {
    const bool right =
        !keys_.empty() && now >= keys_.front().begun && now - keys_.front().begun < k_lifetime;
    if (!right) derive(now);
    return keys_.front().number;
  }
  std::erase_if(keys_, [&](const Keys& keys) { return now - keys.begun >= 2 * k_lifetime; });
  // The clock was set back.
  if (!keys_.empty()) keys_.front().begun = std::min(keys_.front().begun, now);
  const bool due = keys_.empty() || now - keys_.front().begun >= k_lifetime;
  if (due && !renew(now)) return std::nullopt;
  return keys_.front().number;
}

bool TicketKeys::renew(Time now) {
  Keys made(next_, now);
  if (gnutls_rnd(GNUTLS_RND_KEY, made.secret.data(), made.secret.size()) < 0) return false;
  ++next_;
  if (keys_.size() > 1) keys_.resize(1, made);
  keys_.insert(keys_.begin(), std::move(made));
  return true;
}

// A lifetime is a period of the clock, so that servers agree on it without a word.
void TicketKeys::derive(Time now) {
  keys_.clear();
  for (const Time start : {now - now % k_lifetime, now - now % k_lifetime - k_lifetime}) {
    const std::string label = "sheaf tickets " + std::to_string(start / k_lifetime);
    for (const ServerSecret& secret : secrets_) {
      Keys& made = keys_.emplace_back(next_++, start);
      derive_key(secret, label, made.secret);
    }
  }
}

std::optional<TicketKeys::Generation> TicketKeys::of(Bytes ticket, Bytes binding, Time now) {
  const auto latest = current(now);
  const auto name = name_of_ticket(ticket);
  if (!latest || !name) return latest;
  const auto found = std::ranges::find_if(
      keys_, [&](const Keys& keys) { return sealed_with(keys, *name, binding, now); });
  return found == keys_.end() ? latest : found->number;
}

// Names of derived keys are computed, since another process may have made the ticket.
bool TicketKeys::sealed_with(const Keys& keys, const TicketName& name, Bytes binding,
                             Time now) const {
  if (secrets_.empty()) return std::ranges::find(keys.names, name) != keys.names.end();
  Wiped<TicketKey> bound;
  bound.value = key(keys.number, binding);
  return ticket_name(bound.value, now) == name || ticket_name(bound.value, now, 1) == name;
}

TicketKey TicketKeys::key(Generation generation, Bytes binding) const {
  const auto found = std::ranges::find(keys_, generation, &Keys::number);
  const Keys& keys = found == keys_.end() ? keys_.front() : *found;
  TicketKey key{};  // exactly as long as a SHA-512
  const int result = gnutls_hmac_fast(GNUTLS_MAC_SHA512, keys.secret.data(), keys.secret.size(),
                                      binding.data(), binding.size(), key.data());
  // Nobody may know the key of a ticket. A random one opens none.
  if (result < 0) gnutls_rnd(GNUTLS_RND_KEY, key.data(), key.size());
  return key;
}

void TicketKeys::note(Generation generation, Bytes ticket) {
  const auto name = name_of_ticket(ticket);
  if (!name || !secrets_.empty()) return;
  const auto keys = std::ranges::find(keys_, generation, &Keys::number);
  if (keys == keys_.end()) return;
  std::vector<TicketName>& names = keys->names;
  std::erase(names, *name);
  if (names.size() == k_max_names) names.erase(names.begin());
  names.push_back(*name);
}

}  // namespace sheaf::quic
