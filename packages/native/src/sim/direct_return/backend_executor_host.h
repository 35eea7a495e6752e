#pragma once

#include <algorithm>
#include <functional>

#include "direct_return/executor.h"
#include "sim/host.h"

namespace sheaf::quic {

// A backend that sends from the gateway's address. It receives nothing from the network: what the
// gateway says comes over a channel of both.
class BackendExecutorHost final : public Host {
 public:
  BackendExecutorHost(const ExecutorConfig& config, Random& random, Time now)
      : executor(config, random, now) {}

  void receive(const Datagram&, Time) override {}
  void poll_transmit(TransmitBatch& batch, Time now) override {
    if (dead || now < busy_until) return;
    executor.poll_transmit(batch, now);
    say(now);
  }
  Time next_timeout() const override {
    return dead ? k_never : std::max(executor.next_timeout(), busy_until);
  }
  void on_timeout(Time now) override { executor.on_timeout(now); }

  Executor executor;
  bool dead = false;              // it does nothing any more
  Time busy_until = Time::min();  // its processor does something else
  std::vector<GrantId> granted;
  // Nothing can be read any more of what it sends.
  void fail_all() {
    constexpr std::uint64_t k_internal_error = 0x102;  // H3_INTERNAL_ERROR
    for (const GrantId grant : granted) executor.fail(grant, k_internal_error);
  }
  // Takes what the backend says to the gateway.
  std::function<void(std::vector<std::uint8_t>)> on_message;

 private:
  void say(Time now) {
    for (auto message = executor.poll_message(now); !message.empty();
         message = executor.poll_message(now)) {
      on_message(std::move(message));
    }
  }
};

}  // namespace sheaf::quic
