#include "multi_end/backend_exchange.h"

#include <algorithm>

namespace sheaf::quic {

BackendExchange::BackendExchange(Connection& connection, const BackendSeed& seed)
    : connection_(connection),
      backend_(seed.backend),
      path_(seed.keys.path),
      leases_(leased_limits(connection), seed.lease) {}

bool BackendExchange::receive(Bytes bytes, Time now) {
  const auto message = decode_backend_message(bytes);
  if (!message) return false;
  const auto* grant = std::get_if<LeaseGrant>(&message->body);
  if (!grant && !std::holds_alternative<ClientHeard>(message->body)) return false;
  if (message->path != path_) return true;
  if (!grant) {
    heard_elsewhere(connection_, now);
    return true;
  }
  leases_.on_grant(*grant);
  // Credit that came too late is returned as well.
  if (gave_up_) given_up_ = LeaseReturn{leases_.returned()};
  return true;
}

void BackendExchange::give_up() {
  gave_up_ = true;
  given_up_ = leases_.give_up();
}

std::optional<std::vector<std::uint8_t>> BackendExchange::poll_message(Time now) {
  const auto encode = [&](const BackendMessage::Body& body) {
    return encode_backend_message({.path = path_, .body = body});
  };
  if (const auto given_up = std::exchange(given_up_, std::nullopt)) return encode(*given_up);
  if (const auto request = leases_.poll_request(now)) return encode(*request);
  if (const auto returned = leases_.poll_return(now)) return encode(*returned);
  if (const auto report = leases_.poll_report(now)) return encode(*report);
  if (heard_.due(connection_, now)) return encode(ClientHeard{});
  return std::nullopt;
}

Time BackendExchange::next_timeout() const {
  return std::min(leases_.next_timeout(), heard_.next_timeout(connection_));
}

}  // namespace sheaf::quic
