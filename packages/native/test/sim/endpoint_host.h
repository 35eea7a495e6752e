#pragma once

#include <functional>

#include "endpoint/endpoint.h"
#include "sim/host.h"

namespace sheaf::quic {

// Runs an endpoint as a host of a simulation. `on_event` does the work of an application.
class EndpointHost final : public Host {
 public:
  explicit EndpointHost(Endpoint& endpoint) : endpoint_(endpoint) {}

  void receive(const Datagram& datagram, Time now) override {
    endpoint_.receive(datagram, now);
    collect_events(now);
  }
  void poll_transmit(TransmitBatch& batch, Time now) override {
    endpoint_.poll_transmit(batch, now);
  }
  Time next_timeout() const override { return endpoint_.next_timeout(); }
  void on_timeout(Time now) override {
    endpoint_.on_timeout(now);
    collect_events(now);
  }

  std::function<void(ConnectionDriver&, const Event&, Time)> on_event;

 private:
  void collect_events(Time now) {
    while (ConnectionDriver* driver = endpoint_.next_active(now)) {
      while (const auto event = driver->poll_event(now)) {
        if (on_event) on_event(*driver, *event, now);
      }
    }
    endpoint_.reap([](ConnectionDriver&) {});
  }

  Endpoint& endpoint_;
};

}  // namespace sheaf::quic
