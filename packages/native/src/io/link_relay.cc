#include "io/link_relay.h"

#include <algorithm>
#include <utility>

#include "io/monotonic_clock.h"

namespace sheaf::io {

using quic::Link;
using quic::LinkDatagram;
using quic::Time;

namespace {

// System calls per turn, bounded so that every socket and JavaScript get their turn.
constexpr int k_relay_receive_calls = 8;
// Maximum bytes that one link holds: half a second at 1 Gbit/s.
constexpr std::size_t k_link_memory = 64 << 20;

}  // namespace

struct LinkRelay::Client {
  quic::AddressPair path;  // as the listening socket sees it
  std::unique_ptr<WatchedSocket> socket;
  std::uint64_t id = 0;
  Time used{};
};

LinkRelay::LinkRelay(uv_loop_t* loop, const LinkRelayConfig& config)
    : loop_(loop),
      config_(config),
      started_(monotonic_now().time_since_epoch()),
      there_(config.there, config.seed),
      back_(config.back, config.seed + 1) {}

LinkRelay::~LinkRelay() { close({}); }

Time LinkRelay::now() const { return monotonic_now() - started_; }

quic::Status<SocketError> LinkRelay::bind() {
  auto timer = DeadlineTimer::open(loop_, [this] { deliver(); });
  if (!timer) return timer.error();
  auto listener = WatchedSocket::open(loop_, config_.listen, {},
                                      [this](WatchedSocket&) { on_clients_ready(); });
  if (!listener) return listener.error();
  timer_ = std::move(*timer);
  listener_ = std::move(*listener);
  return {};
}

void LinkRelay::set_config(const quic::LinkConfig& there, const quic::LinkConfig& back) {
  there_.change(there, now());
  back_.change(back, now());
  deliver();
}

void LinkRelay::set_down(bool down) {
  quic::LinkConfig there = there_.config();
  quic::LinkConfig back = back_.config();
  there.down = back.down = down;
  set_config(there, back);
}

LinkRelayStats LinkRelay::stats() const {
  LinkRelayStats stats = counters_;
  stats.there = there_.stats();
  stats.back = back_.stats();
  stats.clients = clients_.size();
  return stats;
}

// --- datagrams ----------------------------------------------------------------------------------

void LinkRelay::on_clients_ready() {
  listener_->resume();
  for (int call = 0; call < k_relay_receive_calls; ++call) {
    const std::size_t received = listener_->receive([this](const quic::Datagram& datagram) {
      Client* client = client_of(datagram.path);
      if (client == nullptr) return;
      const quic::AddressPair path{client->socket->local_address(), config_.target};
      send(there_, datagram, {.path = path, .ecn = datagram.ecn, .tag = client->id});
    });
    if (received == 0) break;
  }
  deliver();
}

void LinkRelay::on_target_ready(std::uint64_t id) {
  Client& client = *clients_.at(id);
  client.socket->resume();
  for (int call = 0; call < k_relay_receive_calls; ++call) {
    const std::size_t received = client.socket->receive([&](const quic::Datagram& datagram) {
      // Anybody may have found this port, but only the target may send to it.
      if (datagram.path.remote != config_.target) return;
      client.used = now();
      send(back_, datagram, {.path = client.path, .ecn = datagram.ecn, .tag = id});
    });
    if (received == 0) break;
  }
  deliver();
}

void LinkRelay::send(Link& link, const quic::Datagram& datagram, const quic::LinkHeader& header) {
  if (link.memory_bytes() > k_link_memory) {
    ++counters_.overflow;
    return;
  }
  link.send(datagram.payload, header, now());
}

void LinkRelay::deliver() {
  const Time time = now();
  while (LinkDatagram* datagram = there_.poll_arrival(time)) {
    const auto client = clients_.find(datagram->header.tag);
    transmit(client == clients_.end() ? nullptr : client->second->socket.get(), *datagram);
  }
  while (LinkDatagram* datagram = back_.poll_arrival(time)) transmit(listener_.get(), *datagram);
  const Time next = std::min(there_.next_timeout(), back_.next_timeout());
  if (timer_) timer_->set(next == quic::k_never ? next : next + started_);
}

void LinkRelay::transmit(WatchedSocket* socket, LinkDatagram& datagram) {
  // A full socket drops datagrams, as a network does.
  if (!socket || socket->blocked()) {
    ++counters_.unsent;
    return;
  }
  quic::TransmitBatch batch;
  batch.buffer = datagram.own_payload();
  batch.size = batch.segment_size = batch.buffer.size();
  batch.path = datagram.header.path;
  batch.ecn = datagram.header.ecn;
  socket->send(batch, datagram.own_payload());
}

// --- clients ------------------------------------------------------------------------------------

// Returns null when there is no room for another client.
LinkRelay::Client* LinkRelay::client_of(const quic::AddressPair& path) {
  const auto known = by_path_.find(path);
  Client* client = known == by_path_.end() ? add_client(path) : clients_.at(known->second).get();
  if (client) {
    client->used = now();
  } else {
    ++counters_.refused;
  }
  return client;
}

LinkRelay::Client* LinkRelay::add_client(const quic::AddressPair& path) {
  if (clients_.size() >= config_.max_clients) remove_idle_clients();
  if (clients_.size() >= config_.max_clients) return nullptr;
  const std::uint64_t id = next_client_++;
  auto socket = WatchedSocket::open(loop_, {.family = config_.target.family}, {},
                                    [this, id](WatchedSocket&) { on_target_ready(id); });
  if (!socket) return nullptr;
  auto client = std::make_unique<Client>();
  client->id = id;
  client->path = path;
  client->socket = std::move(*socket);
  by_path_.emplace(path, id);
  return clients_.emplace(id, std::move(client)).first->second.get();
}

void LinkRelay::remove_idle_clients() {
  const Time time = now();
  std::erase_if(clients_, [&](const auto& entry) {
    const bool idle = time - entry.second->used > config_.idle_timeout;
    if (idle) by_path_.erase(entry.second->path);
    return idle;
  });
}

void LinkRelay::close(std::function<void()> done) {
  if (std::exchange(closing_, true)) return;
  // Runs when the last handle releases it.
  const std::shared_ptr<void> last(nullptr, [done = std::move(done)](void*) {
    if (done) done();
  });
  if (listener_) listener_->close([last] {});
  if (timer_) timer_->close([last] {});
  for (auto& [id, client] : clients_) client->socket->close([last] {});
  clients_.clear();
  by_path_.clear();
  listener_.reset();
  timer_.reset();
}

}  // namespace sheaf::io
