#pragma once

#include <uv.h>

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "endpoint/endpoint.h"
#include "io/deadline_timer.h"
#include "io/udp_socket.h"

namespace sheaf::io {

// Runs an Endpoint on a libuv loop: reads the socket, keeps the timer, and sends what the
// application caused once per turn of the loop.
class EndpointLoop {
 public:
  class Listener {
   public:
    virtual ~Listener() = default;
    // The connection may have events.
    virtual void on_active(quic::ConnectionDriver& driver, quic::Time now) = 0;
    // All connections of this turn were shown: the moment to tell the application.
    virtual void on_turn_end() = 0;
    // Its last moment; the pointer is gone afterwards.
    virtual void on_removed(quic::ConnectionDriver& driver) = 0;
  };

  // `loop`, `endpoint` and `listener` outlive it.
  EndpointLoop(uv_loop_t* loop, quic::Endpoint& endpoint, Listener& listener);
  ~EndpointLoop();

  quic::Status<SocketError> bind(const quic::Address& local, const UdpSocketOptions& options);
  const quic::Address& local_address() const { return socket_->local_address(); }
  // The application called something on a connection: sends before the loop sleeps.
  void wake(quic::ConnectionDriver& driver);
  // Sends what is left (CONNECTION_CLOSE) and stops. libuv frees the handles later, then calls
  // `done`.
  void close(std::function<void()> done);
  bool closing() const { return closing_; }

 private:
  struct Handles;

  void on_readable();
  void on_timer();
  void on_prepare();
  void run_turn(quic::Time now);
  void deliver_events(quic::Time now);
  void flush(quic::Time now);
  void flush_closing();
  void watch_socket();
  void on_socket_error();
  quic::Status<SocketError> release_failed_bind(const SocketError& error);

  quic::Endpoint& endpoint_;
  Listener& listener_;
  std::unique_ptr<UdpSocket> socket_;
  Handles* handles_;
  std::vector<std::uint8_t> buffer_;
  quic::TransmitBatch blocked_;  // what the socket refused for now; its bytes are in `buffer_`
  bool is_blocked_ = false;
  bool unsent_ = false;  // the application woke a connection, or a flush stopped early
  bool closing_ = false;
  std::optional<DeadlineTimer> timer_;
  std::uint64_t failed_at_ = 0;  // of the socket's latest error, libuv's time in milliseconds
};

}  // namespace sheaf::io
