#include "io/watched_socket.h"

#include <utility>

namespace sheaf::io {

namespace {

// Pause between attempts to watch a socket that keeps failing.
constexpr std::uint64_t k_recovery_pause_ms = 100;

}  // namespace

// Lives until libuv has closed both handles, which is after the socket is gone.
struct WatchedSocket::Handles {
  WatchedSocket* owner = nullptr;
  std::function<void(WatchedSocket&)> on_ready;
  uv_poll_t poll{};
  uv_timer_t recovery{};  // while active, the socket is not watched because it failed repeatedly
  int open = 2;
  std::function<void()> done;

  static Handles& of(void* handle) {
    return *static_cast<Handles*>(static_cast<uv_handle_t*>(handle)->data);
  }
  static void on_closed(uv_handle_t* handle) {
    Handles& self = of(handle);
    if (--self.open > 0) return;
    if (self.done) self.done();
    delete &self;
  }
};

quic::Result<std::unique_ptr<WatchedSocket>, SocketError> WatchedSocket::open(
    uv_loop_t* loop, const quic::Address& local, const UdpSocketOptions& options,
    std::function<void(WatchedSocket&)> on_ready) {
  auto opened = UdpSocket::open(local, options);
  if (!opened) return opened.error();
  return watch(loop, std::move(*opened), std::move(on_ready));
}

quic::Result<std::unique_ptr<WatchedSocket>, SocketError> WatchedSocket::watch(
    uv_loop_t* loop, std::unique_ptr<UdpSocket> socket,
    std::function<void(WatchedSocket&)> on_ready) {
  std::unique_ptr<WatchedSocket> made(new WatchedSocket(std::move(socket)));
  auto handles = std::make_unique<Handles>();
  if (const int error = uv_poll_init(loop, &handles->poll, made->socket_->descriptor())) {
    return SocketError{-error, "cannot watch the socket"};
  }
  uv_timer_init(loop, &handles->recovery);
  handles->poll.data = handles->recovery.data = handles.get();
  handles->owner = made.get();
  handles->on_ready = std::move(on_ready);
  made->handles_ = handles.release();
  made->watch();
  return made;
}

void WatchedSocket::watch() {
  // No peer disconnects a UDP socket, but a handle without events would not keep the loop alive.
  const int readable = paused_ ? UV_DISCONNECT : UV_READABLE;
  const int events = blocked() ? readable | UV_WRITABLE : readable;
  uv_poll_start(&handles_->poll, events, [](uv_poll_t* handle, int status, int) {
    Handles& handles = Handles::of(handle);
    if (status < 0) return handles.owner->on_error();
    handles.on_ready(*handles.owner);
  });
}

// Watches the socket again after libuv stopped on an error. The error concerns one datagram
// (ECONNREFUSED) or an interface that may come back (ENETDOWN). A socket that fails again at once
// gets a pause first.
void WatchedSocket::on_error() {
  socket_->take_error();
  const std::uint64_t now = uv_now(handles_->poll.loop);
  const bool again = now - std::exchange(failed_at_, now) < k_recovery_pause_ms;
  if (!again) return watch();
  uv_timer_start(
      &handles_->recovery, [](uv_timer_t* handle) { Handles::of(handle).owner->watch(); },
      k_recovery_pause_ms, 0);
}

void WatchedSocket::send(const quic::TransmitBatch& batch, std::vector<std::uint8_t>& buffer) {
  if (blocked() || socket_->send(batch) != SendOutcome::kBlocked) return;
  waiting_.resize(buffer.size());
  std::swap(waiting_, buffer);
  blocked_ = batch;
  watch();
}

void WatchedSocket::pause(bool paused) {
  if (std::exchange(paused_, paused) != paused) watch();
}

void WatchedSocket::resume() {
  if (!blocked() || socket_->send(blocked_) == SendOutcome::kBlocked) return;
  blocked_ = {};
  watch();
}

void WatchedSocket::close(std::function<void()> done) {
  Handles* handles = std::exchange(handles_, nullptr);
  if (!handles) {
    if (done) done();
    return;
  }
  handles->done = std::move(done);
  uv_close(reinterpret_cast<uv_handle_t*>(&handles->poll), Handles::on_closed);
  uv_close(reinterpret_cast<uv_handle_t*>(&handles->recovery), Handles::on_closed);
}

}  // namespace sheaf::io
