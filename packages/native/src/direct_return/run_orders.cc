#include "direct_return/run_orders.h"

#include <atomic>
#include <utility>

namespace sheaf::quic {

namespace {

// Sessions of all threads have different numbers.
std::uint64_t next_number() {
  static std::atomic<std::uint64_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

RunOrders::RunOrders(const Config& config, Time now)
    : config_(config), number_(next_number()), silence_(now), last_said_(now) {}

// Numbers begin anew after 2^32 grants; those in use are left out.
GrantId RunOrders::open(GrantListener& listener) {
  while (!grants_.try_emplace(next_id_, Open{&listener, {}}).second) ++next_id_;
  return next_id_++;
}

void RunOrders::on_accepted(const Acknowledged& acknowledged, Time now) {
  silence_.on_word(now);
  repeat(acknowledged, now);
}

void RunOrders::repeat(const Acknowledged& acknowledged, Time now) {
  const auto grant = grants_.find(acknowledged.grant);
  if (grant == grants_.end()) return;
  grant->second.acknowledged = acknowledged;
  times_.set(acknowledged.grant, now + k_repeat_interval);
}

void RunOrders::close(GrantId id) {
  grants_.erase(id);
  times_.erase(id);
}

GrantListener* RunOrders::listener_of(GrantId id) {
  const auto grant = grants_.find(id);
  if (grant != grants_.end()) return grant->second.listener;
  say(GrantEnded{.end = GrantEnd::kRevoke, .grant = id});
  return nullptr;
}

void RunOrders::end_all(Time now) {
  times_ = {};
  for (const auto& [id, open] : std::exchange(grants_, {})) {
    open.listener->on_grant_ended(*this, {.end = GrantEnd::kRevoke, .grant = id}, now);
  }
}

std::vector<std::uint8_t> RunOrders::poll_message(Time now) {
  while (const auto id = times_.pop(now)) say(grants_.at(*id).acknowledged, now);
  if (waiting_.empty()) {
    if (grants_.empty() || now < ping_due()) return {};
    add(Ping{config_.process});
  }
  last_said_ = now;
  const RunDatagram datagram{.session = config_.session,
                             .messages = std::move(waiting_.front()),
                             .number = next_datagram_};
  waiting_.pop_front();
  const auto* runs = std::get_if<std::vector<RunMessage>>(&datagram.messages);
  last_had_runs_ = runs != nullptr;
  if (runs) said_.add(next_datagram_++, *runs);
  return encode_run_datagram(datagram);
}

// What was in flight for a grant that has ended meanwhile counts as lost.
void RunOrders::on_void(std::uint64_t datagram, Time now) {
  for (const SaidRuns::Said& run : said_.take(datagram)) {
    const auto grant = grants_.find(run.grant);
    if (grant != grants_.end())
      grant->second.listener->on_void_run(*this, run.grant, run.first, now);
  }
}

bool RunOrders::receive(Bytes bytes, Time now) {
  const auto datagram = decode_run_datagram(bytes);
  if (!datagram || datagram->session != config_.session || datagram->number != 0) return false;
  const auto* progress = std::get_if<std::vector<Progress>>(&datagram->messages);
  const auto* ended = std::get_if<std::vector<GrantEnded>>(&datagram->messages);
  const auto* states = std::get_if<std::vector<SenderState>>(&datagram->messages);
  const auto* delivered = std::get_if<std::vector<Delivered>>(&datagram->messages);
  const auto* lost = std::get_if<std::vector<VoidRuns>>(&datagram->messages);
  if (!progress && !ended && !states && !delivered && !lost) return false;
  silence_.on_word(now);
  if (lost) {
    for (const VoidRuns& message : *lost) on_void(message.datagram, now);
    return true;
  }
  if (progress) {
    for (const Progress& message : *progress) {
      if (GrantListener* listener = listener_of(message.grant)) {
        listener->on_progress(*this, message, now);
      }
    }
    return true;
  }
  if (states) {
    for (const SenderState& message : *states) {
      if (GrantListener* listener = listener_of(message.path)) {
        listener->on_state(*this, message, now);
      }
    }
    return true;
  }
  if (delivered) {
    for (const Delivered& message : *delivered) {
      if (GrantListener* listener = listener_of(message.grant)) {
        listener->on_delivered(*this, message, now);
      }
    }
    return true;
  }
  for (const GrantEnded& message : *ended) {
    const auto grant = grants_.find(message.grant);
    if (grant != grants_.end()) grant->second.listener->on_grant_ended(*this, message, now);
  }
  return true;
}

}  // namespace sheaf::quic
