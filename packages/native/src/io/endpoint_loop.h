#pragma once

#include <uv.h>

#include <functional>
#include <memory>
#include <vector>

#include "endpoint/endpoint.h"
#include "io/deadline_timer.h"
#include "io/loop_signal.h"
#include "io/watched_socket.h"
#include "io/worker_sockets.h"

namespace sheaf::io {

// Runs an Endpoint on a libuv loop. Reads its sockets, keeps its timer, and sends once per turn of
// the loop whatever the application caused. Each local address has its own socket, so that a socket
// that is blocked or fails does not stop the others.
class EndpointLoop {
 public:
  class Listener {
   public:
    virtual ~Listener() = default;
    // Reports a connection that may have events.
    virtual void on_active(quic::ConnectionDriver& driver, quic::Time now) = 0;
    // Reports that every connection of this turn was shown, so that the application can be told.
    virtual void on_turn_end() = 0;
    // Reports that the connections have sent what they may send now. May call other loops.
    virtual void on_flushed(quic::Time) {}
    // Reports that a connection is about to be removed. `driver` is invalid after the call.
    virtual void on_removed(quic::ConnectionDriver& driver) = 0;
  };

  // Is told what arrived each time that the sockets were read. Returns when to read them again; not
  // later than now: as soon as something arrives.
  using Moderation = std::function<quic::Time(const quic::Arrivals&, quic::Time now)>;

  // `loop`, `endpoint` and `listener` must outlive this object.
  EndpointLoop(uv_loop_t* loop, quic::Endpoint& endpoint, Listener& listener,
               Moderation moderation = by_rate());
  ~EndpointLoop();

  quic::Status<SocketError> bind(const quic::Address& local, const UdpSocketOptions& options);
  // As `bind`, with the sockets of a worker. Serves what other workers have for this one, too.
  quic::Status<SocketError> join(std::shared_ptr<WorkerSockets> sockets, unsigned worker,
                                 const UdpSocketOptions& options);
  // Returns the first address that was bound, until it is removed.
  const quic::Address& local_address() const { return sockets_.front()->local_address(); }
  // Binds another address with the options of `bind`, which must have been called. Paths may use it
  // from now on. Port 0 lets the system choose; the result has the port. An address that is already
  // bound stays as it is.
  quic::Result<quic::Address, SocketError> add_local_address(const quic::Address& local);
  // Returns true when the socket bound to `socket` serves the local address `local`.
  bool serves(const quic::Address& socket, const quic::Address& local) const {
    return socket_at(socket) == socket_for(local);
  }
  // Closes a socket, so that later datagrams to this address are lost. Returns false for the last
  // address and for an unknown one.
  bool remove_local_address(const quic::Address& local);
  // Opens a signal of the libuv loop that this object runs on.
  std::unique_ptr<LoopSignal> open_signal(std::function<void()> on_signal);
  // Must be called after the application called a connection: its packets are sent before the loop
  // sleeps.
  void wake(quic::ConnectionDriver& driver);
  // Runs a turn before the loop sleeps, for events that come from no connection. Within a turn they
  // are delivered anyway.
  void wake() { unsent_ = unsent_ || !in_turn_; }
  // As `wake`, but sends now, before the loop serves anything else. Within a turn of this loop that
  // is its next flush. The connection's events must have been drained.
  void send_now(quic::ConnectionDriver& driver);
  // Sends what is left, such as CONNECTION_CLOSE, and stops. libuv frees the handles later and then
  // calls `done`.
  void close(std::function<void()> done);
  bool closing() const { return closing_; }

 private:
  struct Handles;

  static Moderation by_rate();
  quic::Status<SocketError> start(const UdpSocketOptions& options);
  quic::Status<SocketError> add_socket(const quic::Address& local);
  quic::Status<SocketError> watch(quic::Result<std::unique_ptr<UdpSocket>, SocketError> socket);
  WatchedSocket* socket_at(const quic::Address& local) const;
  // Returns the socket with the local address of a path, or one bound to the unspecified address
  // that serves it.
  WatchedSocket* socket_for(const quic::Address& local) const;
  bool all_blocked() const;
  bool paused() const { return read_at_ != quic::k_never; }
  void watch_turns();
  void ask_for_turn();
  void on_ready(WatchedSocket& socket);
  quic::Arrivals read(WatchedSocket& socket, quic::Time now);
  void moderate(const quic::Arrivals& arrivals, quic::Time now);
  void on_mail();
  void follow_reading();
  void leave_workers();
  void on_timer();
  void on_prepare();
  void take_events(quic::Time now);
  void run_turn(quic::Time now);
  void set_timer();
  void deliver_events(quic::Time now);
  void flush(quic::Time now);
  void flush_closing();

  quic::Endpoint& endpoint_;
  Listener& listener_;
  std::vector<std::unique_ptr<WatchedSocket>> sockets_;
  UdpSocketOptions options_;
  std::size_t since_flush_ = 0;  // datagrams
  Handles* handles_;
  std::vector<std::uint8_t> buffer_;
  bool unsent_ = false;  // the application called a connection, or a flush stopped early
  bool in_turn_ = false;
  bool closing_ = false;
  std::unique_ptr<DeadlineTimer> timer_;
  std::shared_ptr<WorkerSockets> workers_;  // null for the only endpoint of its addresses
  unsigned worker_ = 0;
  std::unique_ptr<LoopSignal> mail_;
  bool reading_ = true;  // false while another process reads the sockets
  Moderation moderation_;
  quic::Time read_at_ = quic::k_never;  // the end of a pause in which no socket is read
};

}  // namespace sheaf::io
