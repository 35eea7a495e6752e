#include "switchboard/executor_host.h"

#include <utility>

#include "direct_return/framed_payload.h"
#include "http3/encoded_head.h"
#include "io/monotonic_clock.h"

namespace sheaf::switchboard {

using quic::Time;

quic::Result<std::unique_ptr<ExecutorHost>, io::SocketError> ExecutorHost::open(
    uv_loop_t* loop, const RunChannel::Request& request, quic::ExecutorConfig config,
    ReturnSockets sockets, quic::Random& random, Switchboard& switchboard) {
  config.sources = sockets.addresses();
  std::unique_ptr<ExecutorHost> host(new ExecutorHost(
      request, std::move(config), std::move(sockets), random, switchboard, io::monotonic_now()));
  auto timer = io::DeadlineTimer::open(loop, [self = host.get()] { self->on_timer(); });
  if (!timer) return timer.error();
  host->timer_ = std::move(*timer);
  return host;
}

// A run of 32 packets fits into the buffer.
ExecutorHost::ExecutorHost(const RunChannel::Request& request, quic::ExecutorConfig config,
                           ReturnSockets sockets, quic::Random& random, Switchboard& switchboard,
                           Time now)
    : channel_(request),
      executor_(std::move(config), random, now),
      sockets_(std::move(sockets)),
      switchboard_(switchboard),
      number_(switchboard.add(*this)),
      buffer_(65536) {
  request.driver.connection().extension().carry_messages();
}

quic::Status<quic::GrantRefusal> ExecutorHost::accept(const quic::Grant& grant,
                                                      std::unique_ptr<quic::PayloadSource> source,
                                                      const Response& response) {
  const Time now = io::monotonic_now();
  std::optional<quic::Executor::Whole> whole;
  if (grant.first.bytes > 0) {
    std::vector<std::uint8_t> framed = http3::frame_head(response.head, response.length);
    const std::uint64_t end = framed.size() + response.length;
    whole = {.end = http3::padded_size(end, grant.first.bytes), .asked_at = now - response.waited};
    source = std::make_unique<quic::FramedPayload>(std::move(framed), std::move(source), end,
                                                   http3::padding_frame(whole->end - end));
  }
  const auto status = executor_.accept(grant, std::move(source), now, whole);
  settle_later(now);
  return status;
}

void ExecutorHost::on_available(quic::GrantId grant) {
  executor_.on_available(grant);
  settle_later(io::monotonic_now());
}

void ExecutorHost::fail(quic::GrantId grant, std::uint64_t code) {
  executor_.fail(grant, code);
  settle(io::monotonic_now());
}

void ExecutorHost::on_events(Time now) {
  if (!channel_.has_received()) return;
  channel_.drain([&](quic::Bytes datagram) { executor_.receive(datagram, now); });
  settle(now);
}

void ExecutorHost::on_timer() {
  const Time now = io::monotonic_now();
  executor_.on_timeout(now);
  settle(now);
}

// The turn first sends what the application wrote.
void ExecutorHost::settle_later(Time now) {
  if (executor_.first_is_due()) {
    channel_.ask_for_turn();
  } else {
    settle(now);
  }
}

void ExecutorHost::on_flushed(const io::EndpointLoop& loop, Time now) {
  if (channel_.uses(loop) && executor_.first_is_due()) settle(now);
}

// Packets leave before the reports about them.
void ExecutorHost::settle(Time now) {
  quic::TransmitBatch batch;
  batch.buffer = buffer_;
  while (executor_.poll_transmit(batch, now)) sockets_.send(batch);
  channel_.send_all(executor_, now);
  timer_->set(executor_.next_timeout());
}

}  // namespace sheaf::switchboard
