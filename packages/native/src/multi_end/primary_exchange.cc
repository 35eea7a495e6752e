#include "multi_end/primary_exchange.h"

#include <algorithm>

#include "multi_end/connection_snapshot.h"

namespace sheaf::quic {

namespace {

// Enough for a first flight, and for data while more credit is on its way from the primary. It has
// no ids, since HTTP/3 servers open no streams at backends.
constexpr StreamLease k_first_lease{.credit = 64 << 10, .ids = {}};

constexpr Duration k_patience = std::chrono::seconds(1);

}  // namespace

bool PrimaryExchange::ready(Time now) const {
  const FreePaths free = free_backend_paths(connection_);
  return free.now > 0 && (free.now == free.soon || now >= since_ + k_patience);
}

Result<std::vector<std::uint8_t>, BackendRefusal> PrimaryExchange::hand_over(
    BackendId backend, const Address& address) {
  if (find(backend)) return BackendRefusal::kAlready;
  const auto seed = quic::hand_over(connection_, backend, address, k_first_lease);
  if (!seed) return seed.error();
  grantor_.add(backend, seed->keys.path, seed->lease);
  partners_.push_back({.backend = backend, .path = seed->keys.path, .heard = {}});
  return encode_snapshot(*seed);
}

PrimaryExchange::Partner* PrimaryExchange::find(BackendId backend) {
  const auto found = std::ranges::find(partners_, backend, &Partner::backend);
  return found == partners_.end() ? nullptr : &*found;
}

void PrimaryExchange::on_backend_left(const BackendLeftEvent& left, Time now) {
  grantor_.settle(left.path, left.use, now);
  std::erase_if(partners_, [&](const Partner& partner) { return partner.path == left.path; });
}

bool PrimaryExchange::receive(BackendId backend, Bytes bytes, Time now) {
  const auto message = decode_backend_message(bytes);
  if (!message || std::holds_alternative<LeaseGrant>(message->body)) return false;
  Partner* partner = find(backend);
  // The message is from an earlier hand-over, or crossed the end of this one.
  if (!partner || partner->path != message->path) return true;
  if (const auto* request = std::get_if<LeaseRequest>(&message->body)) {
    if (const auto grant = grantor_.on_request(backend, *request)) push(*partner, *grant);
  } else if (const auto* given_up = std::get_if<LeaseReturn>(&message->body)) {
    grantor_.on_return(backend, *given_up);
  } else if (const auto* report = std::get_if<ReceivedReport>(&message->body)) {
    grantor_.on_report(backend, *report, now);
  } else {
    heard_elsewhere(connection_, now);
  }
  return true;
}

void PrimaryExchange::push(const Partner& partner, const BackendMessage::Body& body) {
  outgoing_.push_back(
      {partner.backend, encode_backend_message({.path = partner.path, .body = body})});
}

std::optional<PrimaryExchange::Outgoing> PrimaryExchange::poll_message(Time now) {
  if (outgoing_.empty() && !partners_.empty()) {
    for (const auto& [backend, grant] : grantor_.poll_grants()) push(*find(backend), grant);
    for (Partner& partner : partners_) {
      if (partner.heard.due(connection_, now)) push(partner, ClientHeard{});
    }
  }
  if (outgoing_.empty()) return std::nullopt;
  Outgoing next = std::move(outgoing_.front());
  outgoing_.pop_front();
  return next;
}

Time PrimaryExchange::next_timeout() const {
  Time next = k_never;
  for (const Partner& partner : partners_) {
    next = std::min(next, partner.heard.next_timeout(connection_));
  }
  return next;
}

}  // namespace sheaf::quic
