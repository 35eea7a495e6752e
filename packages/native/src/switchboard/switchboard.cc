#include "switchboard/switchboard.h"

#include "switchboard/executor_host.h"
#include "switchboard/orders_host.h"

namespace sheaf::switchboard {

using SessionNumber = Switchboard::SessionNumber;

SessionNumber Switchboard::add(OrdersHost& orders) {
  orders_[next_] = &orders;
  return next_++;
}

SessionNumber Switchboard::add(ExecutorHost& executor) {
  executors_[next_] = &executor;
  return next_++;
}

void Switchboard::remove(SessionNumber session) {
  orders_.erase(session);
  executors_.erase(session);
}

OrdersHost* Switchboard::orders(SessionNumber session) const {
  const auto found = orders_.find(session);
  return found == orders_.end() ? nullptr : found->second;
}

ExecutorHost* Switchboard::executor(SessionNumber session) const {
  const auto found = executors_.find(session);
  return found == executors_.end() ? nullptr : found->second;
}

void Switchboard::flush(quic::Time now) {
  for (const auto& [session, orders] : orders_) {
    if (orders->orders().next_timeout() <= now) orders->flush(now);
  }
}

void Switchboard::on_flushed(const io::EndpointLoop& loop, quic::Time now) {
  for (const auto& [session, executor] : executors_) executor->on_flushed(loop, now);
}

}  // namespace sheaf::switchboard
