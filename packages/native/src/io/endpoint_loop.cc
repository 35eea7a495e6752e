#include "io/endpoint_loop.h"

#include <cerrno>
#include <utility>

#include "io/monotonic_clock.h"

namespace sheaf::io {

using quic::Time;

namespace {

// System calls per turn, so that neither reading nor writing starves the other or JavaScript.
constexpr int k_receive_calls = 8;
constexpr int k_send_calls = 64;
// Between attempts to watch a socket that keeps failing.
constexpr std::uint64_t k_recovery_pause_ms = 100;

}  // namespace

// Lives until libuv has closed every handle, which may be after the EndpointLoop.
struct EndpointLoop::Handles {
  EndpointLoop* owner = nullptr;
  uv_loop_t* loop = nullptr;
  uv_poll_t socket{};
  uv_poll_t timer{};
  uv_prepare_t prepare{};
  uv_idle_t idle{};       // active: the loop must not sleep
  uv_timer_t recovery{};  // active: the socket is not watched, as it failed again and again
  int open = 0;
  std::function<void()> done;

  static Handles& of(void* handle) {
    return *static_cast<Handles*>(static_cast<uv_handle_t*>(handle)->data);
  }
  template <typename Handle>
  void adopt(Handle& handle) {
    handle.data = this;
    ++open;
  }
  static void on_closed(uv_handle_t* handle) {
    Handles& self = of(handle);
    if (--self.open > 0) return;
    if (self.done) self.done();
    delete &self;
  }
  void close_all() {
    for (auto* handle :
         {reinterpret_cast<uv_handle_t*>(&socket), reinterpret_cast<uv_handle_t*>(&timer),
          reinterpret_cast<uv_handle_t*>(&prepare), reinterpret_cast<uv_handle_t*>(&idle),
          reinterpret_cast<uv_handle_t*>(&recovery)}) {
      if (handle->data && !uv_is_closing(handle)) uv_close(handle, on_closed);
    }
  }
};

EndpointLoop::EndpointLoop(uv_loop_t* loop, quic::Endpoint& endpoint, Listener& listener)
    : endpoint_(endpoint), listener_(listener), handles_(new Handles), buffer_(65536) {
  handles_->owner = this;
  handles_->loop = loop;
}

EndpointLoop::~EndpointLoop() {
  if (!handles_) return;
  close({});
}

quic::Status<SocketError> EndpointLoop::bind(const quic::Address& local,
                                             const UdpSocketOptions& options) {
  auto opened = UdpSocket::open(local, options);
  if (!opened) return opened.error();
  socket_ = std::move(*opened);
  timer_.emplace();
  if (timer_->descriptor() < 0) return release_failed_bind({errno, "cannot make a timer"});
  if (const int error = uv_poll_init(handles_->loop, &handles_->socket, socket_->descriptor())) {
    return release_failed_bind({-error, "cannot watch the socket"});
  }
  handles_->adopt(handles_->socket);
  uv_poll_init(handles_->loop, &handles_->timer, timer_->descriptor());
  handles_->adopt(handles_->timer);
  uv_poll_start(&handles_->timer, UV_READABLE,
                [](uv_poll_t* handle, int, int) { Handles::of(handle).owner->on_timer(); });
  uv_timer_init(handles_->loop, &handles_->recovery);
  handles_->adopt(handles_->recovery);
  uv_prepare_init(handles_->loop, &handles_->prepare);
  handles_->adopt(handles_->prepare);
  uv_prepare_start(&handles_->prepare,
                   [](uv_prepare_t* handle) { Handles::of(handle).owner->on_prepare(); });
  uv_idle_init(handles_->loop, &handles_->idle);
  handles_->adopt(handles_->idle);
  // The socket alone keeps the process alive.
  uv_unref(reinterpret_cast<uv_handle_t*>(&handles_->timer));
  uv_unref(reinterpret_cast<uv_handle_t*>(&handles_->prepare));
  watch_socket();
  return {};
}

void EndpointLoop::watch_socket() {
  const int events = is_blocked_ ? UV_READABLE | UV_WRITABLE : UV_READABLE;
  uv_poll_start(&handles_->socket, events, [](uv_poll_t* handle, int status, int) {
    EndpointLoop& self = *Handles::of(handle).owner;
    status < 0 ? self.on_socket_error() : self.on_readable();
  });
}

quic::Status<SocketError> EndpointLoop::release_failed_bind(const SocketError& error) {
  timer_.reset();
  socket_.reset();
  return error;
}

// libuv has stopped to watch the socket. What failed is one datagram's matter (ECONNREFUSED) or
// that of an interface, which may come back (ENETDOWN): the socket is watched again, after a pause
// when it fails at once.
void EndpointLoop::on_socket_error() {
  socket_->take_error();
  const std::uint64_t now = uv_now(handles_->loop);
  const bool again = now - std::exchange(failed_at_, now) < k_recovery_pause_ms;
  if (!again) return watch_socket();
  uv_timer_start(
      &handles_->recovery, [](uv_timer_t* handle) { Handles::of(handle).owner->watch_socket(); },
      k_recovery_pause_ms, 0);
}

void EndpointLoop::wake(quic::ConnectionDriver& driver) {
  endpoint_.wake(driver);
  unsent_ = true;
}

void EndpointLoop::on_readable() {
  const Time now = monotonic_now();
  for (int call = 0; call < k_receive_calls; ++call) {
    const std::size_t received =
        socket_->receive([&](const quic::Datagram& datagram) { endpoint_.receive(datagram, now); });
    if (received == 0) break;
  }
  run_turn(now);
}

void EndpointLoop::on_timer() {
  timer_->acknowledge();
  const Time now = monotonic_now();
  endpoint_.on_timeout(now);
  run_turn(now);
}

void EndpointLoop::on_prepare() {
  if (!unsent_) return;
  run_turn(monotonic_now());
}

void EndpointLoop::run_turn(Time now) {
  if (closing_) return;
  unsent_ = false;
  deliver_events(now);
  if (closing_) return;
  flush(now);
  // What the flush or the application's reaction caused.
  deliver_events(now);
  if (closing_) return;
  endpoint_.reap([this](quic::ConnectionDriver& driver) { listener_.on_removed(driver); });
  timer_->set(endpoint_.next_timeout());
  // The application reacted to the last events: the loop must not sleep on that.
  if (unsent_ && !is_blocked_) uv_idle_start(&handles_->idle, [](uv_idle_t*) {});
}

void EndpointLoop::deliver_events(Time now) {
  while (quic::ConnectionDriver* driver = endpoint_.next_active()) {
    listener_.on_active(*driver, now);
  }
  listener_.on_turn_end();
}

void EndpointLoop::flush(Time now) {
  if (is_blocked_) {
    if (socket_->send(blocked_) == UdpSocket::SendOutcome::kBlocked) return;
    is_blocked_ = false;
    watch_socket();
  }
  for (int call = 0; call < k_send_calls; ++call) {
    quic::TransmitBatch batch;
    batch.buffer = buffer_;
    batch.max_segments = 64;
    endpoint_.poll_transmit(batch, now);
    if (batch.size == 0) {
      uv_idle_stop(&handles_->idle);
      return;
    }
    if (socket_->send(batch) == UdpSocket::SendOutcome::kBlocked) {
      blocked_ = batch;
      is_blocked_ = true;
      uv_idle_stop(&handles_->idle);
      watch_socket();
      return;
    }
  }
  unsent_ = true;
  uv_idle_start(&handles_->idle, [](uv_idle_t*) {});
}

void EndpointLoop::flush_closing() {
  // Each connection's CONNECTION_CLOSE is a batch of its own, and stateless replies go first.
  constexpr std::size_t k_replies = 256;
  const std::size_t rounds =
      (endpoint_.connection_count() + k_replies) / static_cast<std::size_t>(k_send_calls) + 1;
  for (std::size_t round = 0; round < rounds && !is_blocked_; ++round) {
    unsent_ = false;
    flush(monotonic_now());
    if (!unsent_) return;
  }
}

void EndpointLoop::close(std::function<void()> done) {
  if (closing_) return;
  if (socket_) flush_closing();
  closing_ = true;
  Handles* handles = std::exchange(handles_, nullptr);
  handles->done = std::move(done);
  if (handles->open == 0) {
    if (handles->done) handles->done();
    delete handles;
  } else {
    handles->close_all();
  }
  timer_.reset();
  socket_.reset();
}

}  // namespace sheaf::io
