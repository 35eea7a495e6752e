#pragma once

#include <memory>
#include <vector>

#include "direct_return/executor.h"
#include "io/deadline_timer.h"
#include "switchboard/return_sockets.h"
#include "switchboard/run_channel.h"
#include "switchboard/session_end.h"
#include "switchboard/switchboard.h"

namespace sheaf::switchboard {

// Runs a backend's Executor on a libuv loop: its messages travel over a channel of the backbone,
// its packets leave from send-only sockets, and a timer of its own keeps waits below a millisecond.
class ExecutorHost final : public SessionEnd {
 public:
  // `config.sources` are filled in: the addresses of the sockets. `random` and `switchboard` must
  // outlive this object.
  static quic::Result<std::unique_ptr<ExecutorHost>, io::SocketError> open(
      uv_loop_t* loop, const RunChannel::Request& request, quic::ExecutorConfig config,
      ReturnSockets sockets, quic::Random& random, Switchboard& switchboard);
  ~ExecutorHost() override { switchboard_.remove(number_); }

  Switchboard::SessionNumber number() const override { return number_; }

  // The response whose body is accepted
  struct Response {
    quic::Bytes head;          // encoded
    std::uint64_t length = 0;  // of the body
    quic::Duration waited{};   // since the request came
  };
  // A first packet leaves after what the application writes now: a gateway that has heard of the
  // response knows its first bytes.
  quic::Status<quic::GrantRefusal> accept(const quic::Grant& grant,
                                          std::unique_ptr<quic::PayloadSource> source,
                                          const Response& response);
  // The source of a grant has more bytes.
  void on_available(quic::GrantId grant);
  // The response cannot be completed. `code` is one of HTTP/3.
  void fail(quic::GrantId grant, std::uint64_t code);

  void on_events(quic::Time now) override;
  // A loop has sent what its connections had to send. If it is the one of the channel and of the
  // requests with grants, first packets leave now.
  void on_flushed(const io::EndpointLoop& loop, quic::Time now);
  const quic::Executor& executor() const { return executor_; }

 private:
  ExecutorHost(const RunChannel::Request& request, quic::ExecutorConfig config,
               ReturnSockets sockets, quic::Random& random, Switchboard& switchboard,
               quic::Time now);

  void on_timer();
  void settle(quic::Time now);
  void settle_later(quic::Time now);

  RunChannel channel_;
  quic::Executor executor_;
  ReturnSockets sockets_;
  Switchboard& switchboard_;
  Switchboard::SessionNumber number_;
  std::unique_ptr<io::DeadlineTimer> timer_;
  std::vector<std::uint8_t> buffer_;
};

}  // namespace sheaf::switchboard
