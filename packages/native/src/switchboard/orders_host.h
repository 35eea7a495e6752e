#pragma once

#include <memory>

#include "direct_return/run_orders.h"
#include "io/deadline_timer.h"
#include "switchboard/run_channel.h"
#include "switchboard/session_end.h"
#include "switchboard/switchboard.h"

namespace sheaf::switchboard {

// Runs a gateway's end of a session with one backend on a libuv loop. Grants of the session end
// with it.
class OrdersHost final : public SessionEnd {
 public:
  // `switchboard` must outlive this object.
  static quic::Result<std::unique_ptr<OrdersHost>, io::SocketError> open(
      uv_loop_t* loop, const RunChannel::Request& request, const quic::RunOrders::Config& config,
      Switchboard& switchboard);
  ~OrdersHost() override;

  Switchboard::SessionNumber number() const override { return number_; }

  // Whoever says something calls `flush` afterwards.
  quic::RunOrders& orders() { return orders_; }
  // Sends what was said, before the loop of the backbone serves anything else.
  void flush(quic::Time now);
  void on_events(quic::Time now) override;

 private:
  OrdersHost(const RunChannel::Request& request, const quic::RunOrders::Config& config,
             Switchboard& switchboard, quic::Time now);

  RunChannel channel_;
  quic::RunOrders orders_;
  Switchboard& switchboard_;
  Switchboard::SessionNumber number_;
  std::unique_ptr<io::DeadlineTimer> timer_;
};

}  // namespace sheaf::switchboard
