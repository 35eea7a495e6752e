#include "io/machine_link.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <variant>

#include "io/monotonic_clock.h"
#include "io/socket_address.h"

namespace sheaf::io {

using quic::Address;
using quic::Owner;

namespace {

// Datagrams per second that are passed on. Wrong arrivals are the rule where a balancer knows no
// connections, and the exception elsewhere.
constexpr double k_rate = 200'000;
constexpr double k_burst = 20'000;
// Answers per second: more than all other machines ask for
constexpr double k_answers = 1000;
// Queries that wait for a worker
constexpr std::size_t k_queries = 1000;
constexpr std::size_t k_max_datagram = 65'536;
// System calls in a turn of the loop
constexpr int k_link_receive_calls = 16;

}  // namespace

MachineLink::MachineLink(std::shared_ptr<workers::WorkerGroup> group, MachineLinkConfig config)
    : group_(std::move(group)),
      config_(std::move(config)),
      fleet_(config_.server, config_.secrets, config_.shares_first),
      buffer_(k_max_datagram + machines::k_forward_overhead),
      rate_(k_rate, k_burst),
      opener_(config_.secrets, config_.server.id),
      answers_(k_answers, k_answers) {}

quic::Result<std::unique_ptr<MachineLink>, SocketError> MachineLink::open(
    std::shared_ptr<workers::WorkerGroup> group, MachineLinkConfig config) {
  std::unique_ptr<MachineLink> made(new MachineLink(std::move(group), std::move(config)));
  made->thread_ = LoopThread::open();
  if (!made->thread_) return SocketError{EMFILE, "cannot start a thread for other machines"};
  quic::Status<SocketError> started;
  made->thread_->run([&] { started = made->start(); });
  if (!started) return started.error();
  made->group_->set_machines(made.get());
  return made;
}

quic::Status<SocketError> MachineLink::start() {
  // A sealed datagram may be longer than what one packet of the way holds.
  auto socket = WatchedSocket::open(thread_->loop(), config_.listen, {.fragments = true},
                                    [this](WatchedSocket&) { on_ready(); });
  if (!socket) return socket.error();
  socket_ = std::move(*socket);
  auto timer = DeadlineTimer::open(thread_->loop(), [this] { ask_all(); });
  if (!timer) return timer.error();
  timer_ = std::move(*timer);
  ask_all();
  return {};
}

MachineLink::~MachineLink() {
  if (!thread_) return;
  if (socket_) group_->set_machines(nullptr);
  thread_->run([this] {
    timer_.reset();
    socket_.reset();
  });
}

// --- sending ------------------------------------------------------------------------------------

void MachineLink::set_machines(const std::vector<machines::Machine>& machines) {
  thread_->run([&] {
    const std::lock_guard lock(sending_);
    const std::vector<machines::Machine> before = fleet_.machines();
    fleet_.set_machines(machines);
    make_peers(before);
    asked_ = 0;
  });
}

void MachineLink::set_secrets(const quic::ServerSecrets& secrets) {
  thread_->run([&] { change_secrets(secrets); });
}

void MachineLink::change_secrets(const quic::ServerSecrets& secrets) {
  const std::lock_guard lock(sending_);
  const std::vector<machines::Machine> machines = fleet_.machines();
  fleet_ = machines::Fleet(config_.server, secrets, config_.shares_first);
  fleet_.set_machines(machines);
  config_.secrets = secrets;
  for (std::size_t i = 0; i < peers_.size(); ++i) {
    Peer& peer = peers_[i];
    peer.sealer = {secrets.front(), machines[i].server_id, random_};
    // A machine that lives may not have the new secret yet, and cannot answer until then.
    if (!peer.contact.silent()) peer.contact = {};
  }
  opener_ = machines::ForwardOpener(secrets, config_.server.id);
}

// A machine that stays keeps its sealer: a new one would cost the receiver a key. At another
// address it is another machine: what the first one answered says nothing about it.
void MachineLink::make_peers(const std::vector<machines::Machine>& before) {
  std::vector<Peer> peers;
  for (const machines::Machine& machine : fleet_.machines()) {
    const auto known = std::ranges::find_if(before, [&](const machines::Machine& other) {
      return other.server_id == machine.server_id && other.address == machine.address;
    });
    if (known == before.end()) {
      peers.push_back({{config_.secrets.front(), machine.server_id, random_}, {}});
    } else {
      peers.push_back(std::move(peers_[static_cast<std::size_t>(known - before.begin())]));
    }
  }
  peers_ = std::move(peers);
}

bool MachineLink::send(quic::Bytes bytes, const Address& to) {
  sockaddr_storage address;
  const bool ipv6 = socket_->local_address().family == Address::Family::kIpv6;
  const socklen_t length = to_sockaddr(to, ipv6, address);
  return sendto(socket_->descriptor(), bytes.data(), bytes.size(), 0,
                reinterpret_cast<const sockaddr*>(&address), length) >= 0;
}

// The ways to a machine that lives may fail, one or the other: only one that neither others nor
// this machine hear of is lost.
bool MachineLink::lost(std::size_t place) const {
  return asked_ <= k_missing_for && fleet_.machines()[place].missing &&
         peers_[place].contact.silent();
}

Owner MachineLink::pass_on(const quic::Datagram& datagram, const quic::DatagramHeader& header) {
  if (datagram.payload.size() > k_max_datagram) return Owner::kNobody;
  const std::lock_guard lock(sending_);
  auto owner = fleet_.owner_of(header);
  if (owner && lost(*owner)) {
    if (!header.may_open()) return Owner::kLost;
    owner = fleet_.opener_of(header);
  }
  if (!owner) return Owner::kNobody;
  const machines::Machine& machine = fleet_.machines()[*owner];
  if (!rate_.take(monotonic_now())) {
    ++dropped_;
    return Owner::kAnother;
  }
  const bool may_be_lost = peers_[*owner].contact.late();
  if (may_be_lost && header.kind == quic::DatagramHeader::Kind::kShort)
    unanswered_.keep(machine.server_id, datagram);
  const std::size_t size = peers_[*owner].sealer.seal(datagram, buffer_);
  const bool sent = send(quic::Bytes(buffer_).first(size), machine.address);
  ++(sent ? sent_ : dropped_);
  return Owner::kAnother;
}

std::optional<std::string> MachineLink::scope_of_lost(quic::Bytes server_id) {
  const std::lock_guard lock(sending_);
  const std::vector<machines::Machine>& machines = fleet_.machines();
  for (std::size_t i = 0; i < machines.size(); ++i)
    if (std::ranges::equal(machines[i].server_id, server_id) && lost(i))
      return machines[i].reset_scope;
  return std::nullopt;
}

void MachineLink::ask_all() {
  timer_->set(monotonic_now() + config_.between_queries);
  const std::lock_guard lock(sending_);
  asked_ = std::min(asked_ + 1, k_missing_for + 1);
  std::array<std::uint8_t, machines::k_query_length> query;
  for (std::size_t i = 0; i < peers_.size(); ++i) {
    Peer& peer = peers_[i];
    const bool is_lost = lost(i);
    if (is_lost && !peer.was_lost) answer_clients_of(fleet_.machines()[i]);
    peer.was_lost = is_lost;
    peer.sealer.seal_query(peer.contact.ask(random_), query);
    send(query, fleet_.machines()[i].address);
  }
}

void MachineLink::answer_clients_of(const machines::Machine& machine) {
  for (machines::Unanswered::Kept& kept : unanswered_.take(machine.server_id))
    group_->deliver({kept.bytes, kept.path, kept.ecn}, quic::Origin::kNetwork);
}

// --- receiving ----------------------------------------------------------------------------------

void MachineLink::on_ready() {
  const quic::Time now = monotonic_now();
  for (int call = 0; call < k_link_receive_calls; ++call) {
    socket_->receive([&](const quic::Datagram& sealed) { take(sealed, now); });
    if (socket_->drained()) return;
  }
}

void MachineLink::take(const quic::Datagram& sealed, quic::Time now) {
  if (const auto nonce = machines::read_answer(sealed.payload)) return take_answer(*nonce);
  auto opened = opener_.open(sealed.payload, now);
  if (!opened) {
    ++refused_;
  } else if (const auto* nonce = std::get_if<machines::Nonce>(&*opened)) {
    take_query({*nonce, sealed.path.remote}, now);
  } else {
    take_datagram(std::get<quic::Datagram>(*opened));
  }
}

void MachineLink::take_answer(const machines::Nonce& nonce) {
  // Anybody can send what looks like a response, so it must not take the lock that all workers
  // need. Only this thread changes contacts.
  const auto peer =
      std::ranges::find_if(peers_, [&](const Peer& each) { return each.contact.awaits(nonce); });
  if (peer == peers_.end()) {
    const auto repeats = [&](const Peer& each) { return each.contact.repeats(nonce); };
    if (std::ranges::none_of(peers_, repeats)) ++refused_;
    return;
  }
  const std::lock_guard lock(sending_);
  peer->contact.take(nonce);
}

// A machine whose workers all hang or are gone is lost, though this thread works.
void MachineLink::take_query(const Query& query, quic::Time now) {
  if (!answers_.take(now)) return;
  {
    const std::lock_guard lock(answering_);
    if (queries_.size() == k_queries) return;
    queries_.push_back(query);
  }
  group_->wake_all();
}

void MachineLink::on_worker_turn() {
  std::vector<Query> queries;
  {
    const std::lock_guard lock(answering_);
    queries.swap(queries_);
  }
  for (const Query& query : queries) send(machines::write_answer(query.nonce), query.from);
}

void MachineLink::take_datagram(quic::Datagram& datagram) {
  const auto local =
      std::ranges::find(config_.client_addresses, datagram.path.remote.family, &Address::family);
  if (local == config_.client_addresses.end()) {
    ++refused_;
    return;
  }
  ++received_;
  datagram.path.local = *local;
  group_->deliver(datagram);
}

MachineLink::Counts MachineLink::counts() const { return {sent_, dropped_, received_, refused_}; }

std::size_t MachineLink::lost_machines() {
  const std::lock_guard lock(sending_);
  std::size_t count = 0;
  for (std::size_t i = 0; i < peers_.size(); ++i) count += lost(i) ? 1 : 0;
  return count;
}

}  // namespace sheaf::io
