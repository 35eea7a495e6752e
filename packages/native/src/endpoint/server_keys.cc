#include "endpoint/server_keys.h"

#include <algorithm>

#include "crypto/tokens.h"

namespace sheaf::quic {

namespace {

constexpr Duration k_retry_token_lifetime = std::chrono::seconds(10);
constexpr Duration k_address_token_lifetime = std::chrono::hours(24);

using ResetKey = Wiped<std::array<std::uint8_t, ServerKeys::k_length>>;

void derive_reset_key(const ServerSecret& secret, const std::string& scope, ResetKey& out) {
  derive_key(secret, "sheaf resets " + scope, out.value);
}

// The id in hexadecimal, and the listener
std::string scope_of(Bytes server_id, std::string_view listener) {
  constexpr std::string_view k_digits = "0123456789abcdef";
  std::string out;
  for (const std::uint8_t byte : server_id) {
    out += k_digits[byte >> 4];
    out += k_digits[byte & 0xf];
  }
  return out.append(" ").append(listener);
}

}  // namespace

ServerKeys::ServerKeys(const ServerSecrets& secrets, std::string scope,
                       const std::optional<RoutableIds::Server>& server,
                       std::shared_ptr<RoutableIds::Nonces> nonces,
                       const std::optional<SteeringMark>& mark, Random& random)
    : scope_(server ? scope_of(server->id, scope) : std::move(scope)),
      server_(server),
      nonces_(std::move(nonces)),
      mark_(mark) {
  for (const ServerSecret& secret : secrets) add(secret, secret.number);
  if (!keys_.empty()) return;
  ServerSecret secret;
  random.fill(secret.bytes);
  add(secret, server_ ? std::optional<std::uint8_t>(0) : std::nullopt);
}

void ServerKeys::add(const ServerSecret& secret, std::optional<std::uint8_t> number) {
  Keys& made = keys_.emplace_back();
  made.secret = secret;
  derive_key(secret, "sheaf tokens", made.tokens);
  ResetKey reset_key;
  derive_reset_key(secret, scope_, reset_key);
  if (server_) {
    made.ids = std::make_shared<LocalIdMaker>(reset_key.value,
                                              RoutableIds(*server_, secret, *number, nonces_));
  } else {
    made.ids = std::make_shared<LocalIdMaker>(reset_key.value, number);
  }
  if (mark_) made.ids->set_mark(*mark_);
}

std::vector<std::uint8_t> ServerKeys::retry_token(std::uint32_t version, const Address& remote,
                                                  const ConnectionId& retry_source,
                                                  const ConnectionId& original_destination,
                                                  Time now) const {
  return make_retry_token(keys_.front().tokens, version, remote, retry_source, original_destination,
                          now);
}

std::vector<std::uint8_t> ServerKeys::address_token(const Address& remote, std::uint32_t version,
                                                    Time now) const {
  return make_address_token(keys_.front().tokens, remote, now, version);
}

std::optional<ConnectionId> ServerKeys::verify_retry_token(std::uint32_t version, Bytes token,
                                                           const Address& remote,
                                                           const ConnectionId& destination,
                                                           Time now) const {
  for (const Keys& keys : keys_) {
    const auto original = quic::verify_retry_token(keys.tokens, version, token, remote, destination,
                                                   k_retry_token_lifetime, now);
    if (original) return original;
  }
  return std::nullopt;
}

bool ServerKeys::verify_address_token(std::uint32_t version, Bytes token, const Address& remote,
                                      Time now) const {
  return std::ranges::any_of(keys_, [&](const Keys& keys) {
    return quic::verify_address_token(keys.tokens, token, remote, k_address_token_lifetime, now,
                                      version);
  });
}

std::optional<StatelessResetToken> ServerKeys::reset_token(const ConnectionId& id) const {
  const auto maker =
      std::ranges::find_if(keys_, [&](const Keys& keys) { return keys.ids->made(id); });
  if (maker == keys_.end()) return std::nullopt;
  return maker->ids->reset_token(id);
}

std::optional<StatelessResetToken> ServerKeys::reset_token_of_other(
    const ConnectionId& id, const ScopeOfServer& scope_of_server) const {
  for (const Keys& keys : keys_) {
    const auto server = keys.ids->server_of(id);
    if (!server) continue;
    const auto scope = scope_of_server(*server);
    if (!scope) return std::nullopt;
    ResetKey key;
    derive_reset_key(keys.secret, scope_of(*server, *scope), key);
    return stateless_reset_token(key.value, id);
  }
  return std::nullopt;
}

}  // namespace sheaf::quic
