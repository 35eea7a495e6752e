#include "switchboard/delegations.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "io/monotonic_clock.h"

namespace sheaf::switchboard {

using quic::Time;

namespace {

// No two connections of the process have the same number, whichever thread they belong to: a
// backend keeps the keys of a connection by it.
std::uint64_t next_connection_number() {
  static std::atomic<std::uint64_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

quic::Result<std::unique_ptr<Delegations>, io::SocketError> Delegations::open(
    uv_loop_t* loop, io::EndpointLoop& endpoint, Switchboard& switchboard) {
  std::unique_ptr<Delegations> made(new Delegations(endpoint, switchboard));
  auto timer = io::DeadlineTimer::open(loop, [self = made.get()] { self->on_timer(); });
  if (!timer) return timer.error();
  made->timer_ = std::move(*timer);
  return made;
}

Delegations::Delegations(io::EndpointLoop& endpoint, Switchboard& switchboard)
    : endpoint_(endpoint), switchboard_(switchboard) {
  switchboard.add(*this);
}

Delegations::~Delegations() { switchboard_.remove(*this); }

quic::DelegatedStreams& Delegations::of(quic::ConnectionDriver& driver) {
  auto& streams = streams_[&driver];
  if (!streams) {
    streams = std::make_unique<quic::DelegatedStreams>(driver.connection().extension(),
                                                       next_connection_number());
  }
  return *streams;
}

quic::DelegatedStreams* Delegations::find(quic::ConnectionDriver& driver) {
  const auto found = streams_.find(&driver);
  return found == streams_.end() ? nullptr : found->second.get();
}

void Delegations::forget(quic::ConnectionDriver& driver) {
  if (streams_.erase(&driver) > 0) switchboard_.flush(io::monotonic_now());
}

void Delegations::on_flushed(Time now) {
  if (streams_.empty()) return;
  Time next = quic::k_never;
  for (const auto& [driver, streams] : streams_) {
    streams->flush(now);
    next = std::min(next, streams->next_timeout());
  }
  switchboard_.flush(now);
  timer_->set(next);
}

void Delegations::on_heard(Time) {
  for (const auto& [driver, streams] : streams_) {
    if (streams->take_heard()) endpoint_.wake(*driver);
  }
}

// What has changed is told and sent in the turn before the loop sleeps.
void Delegations::on_timer() {
  const Time now = io::monotonic_now();
  for (const auto& [driver, streams] : streams_) {
    if (streams->next_timeout() > now) continue;
    streams->on_timeout(now);
    endpoint_.wake(*driver);
  }
}

}  // namespace sheaf::switchboard
