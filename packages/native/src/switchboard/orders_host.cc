#include "switchboard/orders_host.h"

#include <utility>

#include "io/monotonic_clock.h"

namespace sheaf::switchboard {

using quic::Time;

quic::Result<std::unique_ptr<OrdersHost>, io::SocketError> OrdersHost::open(
    uv_loop_t* loop, const RunChannel::Request& request, const quic::RunOrders::Config& config,
    Switchboard& switchboard) {
  std::unique_ptr<OrdersHost> host(
      new OrdersHost(request, config, switchboard, io::monotonic_now()));
  auto timer =
      io::DeadlineTimer::open(loop, [self = host.get()] { self->flush(io::monotonic_now()); });
  if (!timer) return timer.error();
  host->timer_ = std::move(*timer);
  return host;
}

OrdersHost::OrdersHost(const RunChannel::Request& request, const quic::RunOrders::Config& config,
                       Switchboard& switchboard, Time now)
    : channel_(request),
      orders_(config, now),
      switchboard_(switchboard),
      number_(switchboard.add(*this)) {
  request.driver.connection().extension().carry_messages();
}

OrdersHost::~OrdersHost() {
  orders_.end_all(io::monotonic_now());
  switchboard_.remove(number_);
}

void OrdersHost::flush(Time now) {
  channel_.send_all(orders_, now);
  timer_->set(orders_.next_timeout());
}

void OrdersHost::on_events(Time now) {
  if (!channel_.has_received()) return;
  channel_.drain([&](quic::Bytes datagram) { orders_.receive(datagram, now); });
  flush(now);
}

}  // namespace sheaf::switchboard
