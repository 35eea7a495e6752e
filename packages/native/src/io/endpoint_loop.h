#pragma once

#include <uv.h>

#include <functional>
#include <memory>
#include <vector>

#include "endpoint/endpoint.h"
#include "io/deadline_timer.h"
#include "io/watched_socket.h"

namespace sheaf::io {

// Runs an Endpoint on a libuv loop: reads its sockets, keeps the timer, and sends what the
// application caused once per turn of the loop. Each local address has a socket of its own, so that
// one that is blocked or fails stops no other.
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
  // The first one, until it is removed.
  const quic::Address& local_address() const { return sockets_.front()->local_address(); }
  // After `bind`, with its options: paths from this address can be used from now on. The system
  // chooses a port instead of 0; the result tells it. An address that is there already is kept.
  quic::Result<quic::Address, SocketError> add_local_address(const quic::Address& local);
  // True when the socket at an address is the one for this local address.
  bool serves(const quic::Address& socket, const quic::Address& local) const {
    return socket_at(socket) == socket_for(local);
  }
  // Closes the socket: later datagrams from this address are lost. False for the last address, and
  // for an unknown one.
  bool remove_local_address(const quic::Address& local);
  // The application called something on a connection: sends before the loop sleeps.
  void wake(quic::ConnectionDriver& driver);
  // Sends what is left (CONNECTION_CLOSE) and stops. libuv frees the handles later, then calls
  // `done`.
  void close(std::function<void()> done);
  bool closing() const { return closing_; }

 private:
  struct Handles;

  quic::Status<SocketError> add_socket(const quic::Address& local);
  WatchedSocket* socket_at(const quic::Address& local) const;
  // The one whose address a path has, or an unspecified one that stands for it.
  WatchedSocket* socket_for(const quic::Address& local) const;
  bool all_blocked() const;
  void watch_turns();
  void on_ready(WatchedSocket& socket);
  void on_timer();
  void on_prepare();
  void run_turn(quic::Time now);
  void deliver_events(quic::Time now);
  void flush(quic::Time now);
  void flush_closing();

  quic::Endpoint& endpoint_;
  Listener& listener_;
  std::vector<std::unique_ptr<WatchedSocket>> sockets_;
  UdpSocketOptions options_;
  Handles* handles_;
  std::vector<std::uint8_t> buffer_;
  bool unsent_ = false;  // the application woke a connection, or a flush stopped early
  bool closing_ = false;
  std::unique_ptr<DeadlineTimer> timer_;
};

}  // namespace sheaf::io
