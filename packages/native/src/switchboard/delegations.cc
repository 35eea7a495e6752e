#include "switchboard/delegations.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "io/monotonic_clock.h"

namespace sheaf::switchboard {

using quic::Time;

namespace {

// What is due is done in the turns of busy connections. For others it may be so late, which saves
// most turns of the timer.
constexpr quic::Duration k_lateness = std::chrono::milliseconds(4);

Time later(Time deadline) { return deadline == quic::k_never ? deadline : deadline + k_lateness; }

// No two connections of the process have the same number, whichever thread they belong to: a
// backend keeps the keys of a connection by it.
std::uint64_t next_connection_number() {
  static std::atomic<std::uint64_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

Delegations::Entry::Entry(io::EndpointLoop& endpoint, quic::ConnectionDriver& of,
                          Delegations& owner)
    : driver(of), streams(of.connection().extension(), next_connection_number()) {
  streams.on_news([this, &endpoint] {
    if (!std::exchange(woken, true)) endpoint.wake(driver);
  });
  driver.connection().extension().on_run_ordered([this, &owner] { owner.list(*this); });
}

Delegations::Entry::~Entry() { driver.connection().extension().on_run_ordered({}); }

quic::Result<std::unique_ptr<Delegations>, io::SocketError> Delegations::open(
    uv_loop_t* loop, io::EndpointLoop& endpoint, Switchboard& switchboard) {
  std::unique_ptr<Delegations> made(new Delegations(endpoint, switchboard));
  auto timer = io::DeadlineTimer::open(loop, [self = made.get()] { self->on_timer(); });
  if (!timer) return timer.error();
  made->timer_ = std::move(*timer);
  return made;
}

Delegations::Delegations(io::EndpointLoop& endpoint, Switchboard& switchboard)
    : endpoint_(endpoint), switchboard_(switchboard) {}

Delegations::Entry* Delegations::entry_of(quic::ConnectionDriver& driver) {
  const auto found = entries_.find(&driver);
  return found == entries_.end() ? nullptr : found->second.get();
}

quic::DelegatedStreams& Delegations::of(quic::ConnectionDriver& driver) {
  auto& entry = entries_[&driver];
  if (!entry) entry = std::make_unique<Entry>(endpoint_, driver, *this);
  list(*entry);
  return entry->streams;
}

quic::DelegatedStreams* Delegations::find(quic::ConnectionDriver& driver) {
  Entry* entry = entry_of(driver);
  return entry ? &entry->streams : nullptr;
}

void Delegations::forget(quic::ConnectionDriver& driver) {
  Entry* entry = entry_of(driver);
  if (!entry) return;
  deadlines_.remove(entry);
  std::erase(listed_, entry);
  entries_.erase(&driver);
  switchboard_.flush(io::monotonic_now());
}

void Delegations::list(Entry& entry) {
  if (!std::exchange(entry.listed, true)) listed_.push_back(&entry);
}

void Delegations::on_active(quic::ConnectionDriver& driver) {
  if (Entry* entry = entry_of(driver)) list(*entry);
}

void Delegations::on_flushed(Time now) {
  if (listed_.empty()) return;
  for (Entry* entry : std::exchange(listed_, {})) {
    entry->listed = entry->woken = false;
    entry->streams.flush(now);
    set_deadline(*entry, now);
  }
  switchboard_.flush(now);
  timer_->set(later(deadlines_.next()));
}

void Delegations::set_deadline(Entry& entry, Time now) {
  Time next = entry.streams.next_timeout();
  if (entry.streams.streams() == 0) next = std::min(next, now + k_keep_idle);
  deadlines_.set(&entry, next);
}

void Delegations::on_timer() {
  const Time now = io::monotonic_now();
  while (deadlines_.next() <= now) on_due(*deadlines_.first(), now);
  timer_->set(later(deadlines_.next()));
}

// A backend may have spoken since the deadline was set. What follows otherwise is told and sent in
// the turn before the loop sleeps, which sets the next deadline.
void Delegations::on_due(Entry& entry, Time now) {
  deadlines_.remove(&entry);
  if (entry.streams.next_timeout() <= now) {
    entry.streams.on_timeout(now);
    endpoint_.wake(entry.driver);
  } else if (entry.streams.idle()) {
    entry.streams.leave(now);
    forget(entry.driver);
  } else {
    set_deadline(entry, now);
  }
}

}  // namespace sheaf::switchboard
