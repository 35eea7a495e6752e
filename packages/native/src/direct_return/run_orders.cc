#include "direct_return/run_orders.h"

#include <algorithm>
#include <utility>

namespace sheaf::quic {

// Numbers begin anew after 2^32 grants; those in use are left out.
GrantId RunOrders::open(GrantListener& listener, Time now) {
  if (listeners_.empty()) last_word_ = std::max(last_word_, now);
  while (!listeners_.try_emplace(next_id_, &listener).second) ++next_id_;
  return next_id_++;
}

GrantListener* RunOrders::listener_of(GrantId id) const {
  const auto found = listeners_.find(id);
  return found == listeners_.end() ? nullptr : found->second;
}

void RunOrders::end_all(Time now) {
  for (const auto& [id, listener] : std::exchange(listeners_, {})) {
    listener->on_grant_ended(*this, {.end = GrantEnd::kRevoke, .grant = id}, now);
  }
}

std::vector<std::uint8_t> RunOrders::poll_message(Time now) {
  if (waiting_.empty()) {
    if (listeners_.empty() || now < last_said_ + k_ping_interval) return {};
    add(Ping{config_.process});
  }
  last_said_ = now;
  auto bytes = encode_run_datagram({config_.session, std::move(waiting_.front())});
  waiting_.pop_front();
  return bytes;
}

bool RunOrders::receive(Bytes bytes, Time now) {
  const auto datagram = decode_run_datagram(bytes);
  if (!datagram || datagram->session != config_.session) return false;
  const auto* progress = std::get_if<std::vector<Progress>>(&datagram->messages);
  const auto* ended = std::get_if<std::vector<GrantEnded>>(&datagram->messages);
  const auto* pings = std::get_if<std::vector<Ping>>(&datagram->messages);
  const bool from_backend = progress || (ended && ended->front().end != GrantEnd::kStop) ||
                            (pings && pings->front().process == config_.backend_process);
  if (!from_backend) return false;
  last_word_ = std::max(last_word_, now);
  for (const Progress& message : progress ? *progress : std::vector<Progress>()) {
    if (GrantListener* listener = listener_of(message.grant))
      listener->on_progress(*this, message, now);
  }
  for (const GrantEnded& message : ended ? *ended : std::vector<GrantEnded>()) {
    if (GrantListener* listener = listener_of(message.grant)) {
      listener->on_grant_ended(*this, message, now);
    }
  }
  return true;
}

}  // namespace sheaf::quic
