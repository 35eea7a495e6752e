#include "io/endpoint_loop.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "io/monotonic_clock.h"
#include "io/wake_moderation.h"

namespace sheaf::io {

using quic::Time;

namespace {

// System calls per turn, bounded so that reading, writing and JavaScript all get their turn.
constexpr int k_receive_calls = 16;
constexpr int k_send_calls = 64;
// Maximum bytes received in a turn. They are read at its end, so they should still be in the
// processor's cache then.
constexpr std::size_t k_receive_bytes = 256 << 10;
// Connections wake up together at multiples of it. The pacer saves up what two milliseconds yield.
constexpr quic::Duration k_wake_interval = std::chrono::milliseconds(1);

Time next_wake(Time deadline) {
  if (deadline == quic::k_never) return deadline;
  const auto since = deadline.time_since_epoch();
  const auto rest = since % k_wake_interval;
  return rest == quic::Duration::zero() ? deadline : deadline + (k_wake_interval - rest);
}

// Returns true when the bound address is unspecified and so serves `local` too. An IPv6 socket also
// serves IPv4.
bool stands_for(const quic::Address& bound, const quic::Address& local) {
  return bound.ip == decltype(quic::Address::ip){} && bound.port == local.port &&
         (bound.family == local.family || bound.family == quic::Address::Family::kIpv6);
}

}  // namespace

// Lives until libuv has closed every handle, which may be after the EndpointLoop.
struct EndpointLoop::Handles {
  EndpointLoop* owner = nullptr;
  uv_loop_t* loop = nullptr;
  uv_prepare_t prepare{};
  uv_idle_t idle{};  // while active, the loop does not sleep
  int open = 0;
  std::shared_ptr<void> closed;  // released when all handles are closed

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
    if (--self.open == 0) delete &self;
  }
  void close_all() {
    if (open == 0) {
      delete this;
      return;
    }
    for (auto* handle :
         {reinterpret_cast<uv_handle_t*>(&prepare), reinterpret_cast<uv_handle_t*>(&idle)}) {
      uv_close(handle, on_closed);
    }
  }
};

EndpointLoop::Moderation EndpointLoop::by_rate() {
  return [rule = WakeModeration()](const quic::Arrivals& arrivals, Time now) mutable {
    return rule.on_read(arrivals, now);
  };
}

EndpointLoop::EndpointLoop(uv_loop_t* loop, quic::Endpoint& endpoint, Listener& listener,
                           Moderation moderation)
    : endpoint_(endpoint),
      listener_(listener),
      handles_(new Handles),
      buffer_(65536),
      moderation_(std::move(moderation)) {
  handles_->owner = this;
  handles_->loop = loop;
}

EndpointLoop::~EndpointLoop() {
  if (!handles_) return;
  close({});
}

quic::Status<SocketError> EndpointLoop::bind(const quic::Address& local,
                                             const UdpSocketOptions& options) {
  auto status = start(options);
  if (status) status = add_socket(local);
  if (status) watch_turns();
  return status;
}

quic::Status<SocketError> EndpointLoop::join(std::shared_ptr<WorkerSockets> sockets,
                                             unsigned worker, const UdpSocketOptions& options) {
  auto status = start(options);
  for (std::size_t i = 0; status && i < sockets->addresses().size(); ++i)
    status = watch(sockets->take(worker, i, options));
  if (!status) return status;
  mail_ = open_signal([this] { on_mail(); });
  if (!mail_) return SocketError{EMFILE, "cannot listen to other workers"};
  workers_ = std::move(sockets);
  worker_ = worker;
  workers_->group()->join(worker, [signal = mail_.get()] { signal->signal(); });
  follow_reading();
  watch_turns();
  return {};
}

quic::Status<SocketError> EndpointLoop::start(const UdpSocketOptions& options) {
  options_ = options;
  auto timer = DeadlineTimer::open(handles_->loop, [this] { on_timer(); });
  if (!timer) return timer.error();
  timer_ = std::move(*timer);
  return {};
}

void EndpointLoop::watch_turns() {
  uv_prepare_init(handles_->loop, &handles_->prepare);
  handles_->adopt(handles_->prepare);
  uv_prepare_start(&handles_->prepare,
                   [](uv_prepare_t* handle) { Handles::of(handle).owner->on_prepare(); });
  uv_idle_init(handles_->loop, &handles_->idle);
  handles_->adopt(handles_->idle);
  // Only sockets keep the process alive.
  uv_unref(reinterpret_cast<uv_handle_t*>(&handles_->prepare));
}

// --- local addresses ----------------------------------------------------------------------------

quic::Status<SocketError> EndpointLoop::add_socket(const quic::Address& local) {
  return watch(UdpSocket::open(local, options_));
}

quic::Status<SocketError> EndpointLoop::watch(
    quic::Result<std::unique_ptr<UdpSocket>, SocketError> socket) {
  if (!socket) return socket.error();
  auto watched = WatchedSocket::watch(handles_->loop, std::move(*socket),
                                      [this](WatchedSocket& ready) { on_ready(ready); });
  if (!watched) return watched.error();
  sockets_.push_back(std::move(*watched));
  return {};
}

quic::Result<quic::Address, SocketError> EndpointLoop::add_local_address(
    const quic::Address& local) {
  if (socket_at(local)) return local;
  const auto status = add_socket(local);
  if (!status) return status.error();
  return sockets_.back()->local_address();
}

bool EndpointLoop::remove_local_address(const quic::Address& local) {
  const WatchedSocket* socket = socket_at(local);
  if (!socket || sockets_.size() == 1) return false;
  std::erase_if(sockets_, [&](const auto& other) { return other.get() == socket; });
  return true;
}

WatchedSocket* EndpointLoop::socket_at(const quic::Address& local) const {
  for (const auto& socket : sockets_) {
    if (socket->local_address() == local) return socket.get();
  }
  return nullptr;
}

WatchedSocket* EndpointLoop::socket_for(const quic::Address& local) const {
  if (WatchedSocket* socket = socket_at(local)) return socket;
  for (const auto& socket : sockets_) {
    if (stands_for(socket->local_address(), local)) return socket.get();
  }
  return nullptr;
}

bool EndpointLoop::all_blocked() const {
  return std::ranges::all_of(sockets_, [](const auto& socket) { return socket->blocked(); });
}

// --- turns --------------------------------------------------------------------------------------

std::unique_ptr<LoopSignal> EndpointLoop::open_signal(std::function<void()> on_signal) {
  return LoopSignal::open(handles_->loop, std::move(on_signal));
}

void EndpointLoop::wake(quic::ConnectionDriver& driver) {
  endpoint_.wake(driver, monotonic_now());
  ask_for_turn();
}

void EndpointLoop::send_now(quic::ConnectionDriver& driver) {
  if (in_turn_ || closing_) return wake(driver);
  endpoint_.send(driver);
  flush(monotonic_now());
  if (unsent_ || endpoint_.has_active()) return ask_for_turn();
  set_timer();
}

// In this iteration of the loop this endpoint may have had its turn already: another endpoint can
// call it from within its own turn, right before the loop would sleep.
void EndpointLoop::ask_for_turn() {
  unsent_ = true;
  if (!closing_ && handles_->open > 0) uv_idle_start(&handles_->idle, [](uv_idle_t*) {});
}

void EndpointLoop::on_ready(WatchedSocket& socket) {
  const Time now = monotonic_now();
  if (reading_) moderate(read(socket, now), now);
  // What is due has the same turn, so that what follows from both leaves together.
  endpoint_.on_timeout(now);
  take_events(now);
}

quic::Arrivals EndpointLoop::read(WatchedSocket& socket, Time now) {
  quic::Arrivals arrivals;
  std::size_t bytes = 0;
  for (int call = 0; call < k_receive_calls && bytes < k_receive_bytes; ++call) {
    socket.receive([&](const quic::Datagram& datagram) {
      if (datagram.payload.size() > options_.largest_datagram) return;
      bytes += datagram.payload.size();
      endpoint_.receive(datagram, now);
      if (options_.datagrams_per_flush == 0) return;
      if (++since_flush_ < options_.datagrams_per_flush) return;
      since_flush_ = 0;
      arrivals += endpoint_.end_batch(now);
      flush(now);
    });
    if (socket.drained()) break;
  }
  return arrivals += endpoint_.end_batch(now);
}

void EndpointLoop::moderate(const quic::Arrivals& arrivals, Time now) {
  const Time next = moderation_(arrivals, now);
  const bool pause = next > now;
  if (pause != paused()) {
    for (const auto& socket : sockets_) socket->pause(pause || !reading_);
  }
  const bool drained =
      std::ranges::all_of(sockets_, [](const auto& socket) { return socket->drained(); });
  read_at_ = !pause ? quic::k_never : drained ? next : now;
}

void EndpointLoop::follow_reading() {
  reading_ = workers_->group()->reading();
  read_at_ = quic::k_never;
  for (const auto& socket : sockets_) socket->pause(!reading_);
}

void EndpointLoop::on_mail() {
  if (workers_->group()->reading() != reading_) follow_reading();
  const Time now = monotonic_now();
  workers_->group()->take(worker_, [&](const quic::Datagram& datagram, quic::Origin origin) {
    endpoint_.receive(datagram, now, origin);
  });
  endpoint_.end_batch(now);
  if (const auto request = workers_->group()->take_room_request(worker_))
    endpoint_.make_room(*request, now);
  endpoint_.on_timeout(now);
  take_events(now);
}

void EndpointLoop::leave_workers() {
  if (!workers_) return;
  workers_->group()->leave(worker_);
  workers_.reset();
}

void EndpointLoop::on_timer() {
  const Time now = monotonic_now();
  if (paused() && reading_) {
    quic::Arrivals arrivals;
    for (const auto& socket : sockets_) arrivals += read(*socket, now);
    moderate(arrivals, now);
  }
  endpoint_.on_timeout(now);
  take_events(now);
}

// What follows leaves before the loop sleeps. So the sockets and timers of an iteration, and what
// other endpoints cause in it, share the packets and the messages between nodes.
void EndpointLoop::take_events(Time now) {
  if (closing_) return;
  unsent_ = true;
  in_turn_ = true;
  deliver_events(now);
  in_turn_ = false;
}

void EndpointLoop::on_prepare() {
  if (!unsent_) return;
  run_turn(monotonic_now());
}

void EndpointLoop::run_turn(Time now) {
  if (closing_) return;
  unsent_ = false;
  in_turn_ = true;
  deliver_events(now);
  if (closing_) return;
  flush(now);
  listener_.on_flushed(now);
  // The flush, or the application's reaction to events, may have caused more of them.
  deliver_events(now);
  if (!closing_) {
    endpoint_.reap([this](quic::ConnectionDriver& driver) { listener_.on_removed(driver); });
  }
  in_turn_ = false;
  if (closing_) return;
  set_timer();
  // The application may have reacted to the last events, so the loop must not sleep yet.
  if (unsent_ && !all_blocked()) uv_idle_start(&handles_->idle, [](uv_idle_t*) {});
}

void EndpointLoop::set_timer() {
  timer_->set(std::min(read_at_, next_wake(endpoint_.next_timeout())));
}

void EndpointLoop::deliver_events(Time now) {
  while (quic::ConnectionDriver* driver = endpoint_.next_active(now)) {
    listener_.on_active(*driver, now);
  }
  listener_.on_turn_end();
}

void EndpointLoop::flush(Time now) {
  for (const auto& socket : sockets_) socket->resume();
  for (int call = 0; call < k_send_calls; ++call) {
    quic::TransmitBatch batch;
    // While every socket is blocked, unsent packets wait in the connections.
    if (!all_blocked()) {
      batch.buffer = buffer_;
      batch.max_segments = 64;
      endpoint_.poll_transmit(batch, now);
    }
    if (batch.size == 0) {
      uv_idle_stop(&handles_->idle);
      return;
    }
    // An address without a socket was removed, so its batch is lost.
    if (WatchedSocket* socket = socket_for(batch.path.local)) socket->send(batch, buffer_);
  }
  unsent_ = true;
  uv_idle_start(&handles_->idle, [](uv_idle_t*) {});
}

void EndpointLoop::flush_closing() {
  // On each of its eight paths a connection may send its last frames and then its CONNECTION_CLOSE,
  // each as a batch of its own. Stateless replies go first.
  constexpr std::size_t k_batches = 2 * 8;
  constexpr std::size_t k_replies = 256;
  const std::size_t rounds = (endpoint_.connection_count() * k_batches + k_replies) /
                                 static_cast<std::size_t>(k_send_calls) +
                             1;
  for (std::size_t round = 0; round < rounds && !all_blocked(); ++round) {
    unsent_ = false;
    flush(monotonic_now());
    if (!unsent_) return;
  }
}

void EndpointLoop::close(std::function<void()> done) {
  if (closing_) return;
  if (!sockets_.empty()) flush_closing();
  closing_ = true;
  leave_workers();
  // Whoever has the endpoint may keep it for long.
  endpoint_.give_places();
  // Runs when the last handle or socket releases it.
  const std::shared_ptr<void> closed(nullptr, [done = std::move(done)](void*) {
    if (done) done();
  });
  for (const auto& socket : sockets_) socket->close([closed] {});
  if (timer_) timer_->close([closed] {});
  if (mail_) mail_->close([closed] {});
  handles_->closed = closed;
  std::exchange(handles_, nullptr)->close_all();
  timer_.reset();
  mail_.reset();
  sockets_.clear();
}

}  // namespace sheaf::io
