#pragma once

#include <uv.h>

#include <functional>
#include <memory>
#include <vector>

#include "io/udp_socket.h"

namespace sheaf::io {

// Watches a UDP socket on a libuv loop. Tells its owner when the socket is ready, keeps a batch
// that the system does not accept yet, and recovers from errors.
class WatchedSocket {
 public:
  // `on_ready` reports that datagrams wait, or that a blocked batch may be sent. It may destroy the
  // socket. The socket keeps the loop alive; the loop must outlive the socket.
  static quic::Result<std::unique_ptr<WatchedSocket>, SocketError> open(
      uv_loop_t* loop, const quic::Address& local, const UdpSocketOptions& options,
      std::function<void(WatchedSocket&)> on_ready);
  // As `open`, for a socket that is open already.
  static quic::Result<std::unique_ptr<WatchedSocket>, SocketError> watch(
      uv_loop_t* loop, std::unique_ptr<UdpSocket> socket,
      std::function<void(WatchedSocket&)> on_ready);
  ~WatchedSocket() { close({}); }
  WatchedSocket(const WatchedSocket&) = delete;
  WatchedSocket& operator=(const WatchedSocket&) = delete;

  const quic::Address& local_address() const { return socket_->local_address(); }
  // For options of the system alone: this object reads, writes and closes it.
  int descriptor() const { return socket_->descriptor(); }
  template <typename Sink>
  std::size_t receive(Sink&& sink) {
    return socket_->receive(std::forward<Sink>(sink));
  }

  // Whether the last call of `receive` left no datagram.
  bool drained() const { return socket_->drained(); }

  // Reports no datagrams while it is paused. The socket keeps the loop alive all the same.
  void pause(bool paused);
  // Returns true while a batch waits for the system.
  bool blocked() const { return blocked_.size > 0; }
  // Sends a batch whose bytes are in `buffer`. When the batch has to wait, `buffer` is exchanged
  // for another of its size. Batches that come while one waits are lost, as in the full queue of a
  // router.
  void send(const quic::TransmitBatch& batch, std::vector<std::uint8_t>& buffer);
  // Sends the batch that waits, if the system accepts it now.
  void resume();
  // Stops at once. libuv frees the handles later and then calls `done`.
  void close(std::function<void()> done);

 private:
  struct Handles;

  explicit WatchedSocket(std::unique_ptr<UdpSocket> socket) : socket_(std::move(socket)) {}
  void watch();
  void on_error();

  std::unique_ptr<UdpSocket> socket_;
  Handles* handles_ = nullptr;
  bool paused_ = false;
  quic::TransmitBatch blocked_;        // empty when none waits; its bytes are in `waiting_`
  std::vector<std::uint8_t> waiting_;  // allocated when a batch is blocked for the first time
  std::uint64_t failed_at_ = 0;        // time of the latest error, in milliseconds of libuv's clock
};

}  // namespace sheaf::io
