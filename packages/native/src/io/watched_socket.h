#pragma once

#include <uv.h>

#include <functional>
#include <memory>
#include <vector>

#include "io/udp_socket.h"

namespace sheaf::io {

// A UDP socket on a libuv loop: tells its owner when it is ready, keeps the batch that the system
// does not take yet, and goes on after errors.
class WatchedSocket {
 public:
  // `on_ready`: datagrams wait, or what was blocked may be sent. It may destroy the socket. The
  // watch keeps the loop alive, which outlives it.
  static quic::Result<std::unique_ptr<WatchedSocket>, SocketError> open(
      uv_loop_t* loop, const quic::Address& local, const UdpSocketOptions& options,
      std::function<void(WatchedSocket&)> on_ready);
  ~WatchedSocket() { close({}); }
  WatchedSocket(const WatchedSocket&) = delete;
  WatchedSocket& operator=(const WatchedSocket&) = delete;

  const quic::Address& local_address() const { return socket_->local_address(); }
  template <typename Sink>
  std::size_t receive(Sink&& sink) {
    return socket_->receive(std::forward<Sink>(sink));
  }

  // A batch waits for the system.
  bool blocked() const { return blocked_.size > 0; }
  // The batch's bytes are in `buffer`, which is exchanged for another of its size when the batch
  // has to wait. What comes while one waits is lost, as in the full queue of a router.
  void send(const quic::TransmitBatch& batch, std::vector<std::uint8_t>& buffer);
  // Sends what waits, if the system takes it now.
  void resume();
  // Stops at once. libuv frees the handles later, then calls `done`.
  void close(std::function<void()> done);

 private:
  struct Handles;

  explicit WatchedSocket(std::unique_ptr<UdpSocket> socket) : socket_(std::move(socket)) {}
  void watch();
  void on_error();

  std::unique_ptr<UdpSocket> socket_;
  Handles* handles_ = nullptr;
  quic::TransmitBatch blocked_;        // empty: none; its bytes are in `waiting_`
  std::vector<std::uint8_t> waiting_;  // made when something is blocked for the first time
  std::uint64_t failed_at_ = 0;        // the latest error, libuv's time in milliseconds
};

}  // namespace sheaf::io
