#include "io/machine_link.h"

#include <sys/socket.h>

#include <algorithm>
#include <utility>

#include "io/monotonic_clock.h"
#include "io/socket_address.h"

namespace sheaf::io {

using quic::Address;

namespace {

// Datagrams per second that are passed on. Wrong arrivals are the rule where a balancer knows no
// connections, and the exception elsewhere.
constexpr double k_rate = 200'000;
constexpr double k_burst = 20'000;
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
      opener_(config_.secrets, config_.server.id) {}

quic::Result<std::unique_ptr<MachineLink>, SocketError> MachineLink::open(
    uv_loop_t* loop, std::shared_ptr<workers::WorkerGroup> group, MachineLinkConfig config) {
  const Address listen = config.listen;
  std::unique_ptr<MachineLink> made(new MachineLink(std::move(group), std::move(config)));
  // A sealed datagram may be longer than what one packet of the way holds.
  auto socket = WatchedSocket::open(loop, listen, {.fragments = true},
                                    [link = made.get()](WatchedSocket&) { link->on_ready(); });
  if (!socket) return socket.error();
  made->socket_ = std::move(*socket);
  made->group_->set_machines(made.get());
  return made;
}

// --- sending ------------------------------------------------------------------------------------

void MachineLink::set_machines(const std::vector<machines::Machine>& machines) {
  const std::lock_guard lock(sending_);
  const std::vector<machines::Machine> before = fleet_.machines();
  fleet_.set_machines(machines);
  make_sealers(before);
}

void MachineLink::set_secrets(const quic::ServerSecrets& secrets) {
  const std::lock_guard lock(sending_);
  const std::vector<machines::Machine> machines = fleet_.machines();
  fleet_ = machines::Fleet(config_.server, secrets, config_.shares_first);
  fleet_.set_machines(machines);
  config_.secrets = secrets;
  make_sealers({});
  opener_ = machines::ForwardOpener(secrets, config_.server.id);
}

// A machine that stays keeps its sealer: a new one would cost the receiver a key.
void MachineLink::make_sealers(const std::vector<machines::Machine>& before) {
  std::vector<machines::ForwardSealer> sealers;
  for (const machines::Machine& machine : fleet_.machines()) {
    const auto known = std::ranges::find(before, machine.server_id, &machines::Machine::server_id);
    if (known == before.end()) {
      sealers.emplace_back(config_.secrets.front(), machine.server_id, random_);
    } else {
      sealers.push_back(std::move(sealers_[static_cast<std::size_t>(known - before.begin())]));
    }
  }
  sealers_ = std::move(sealers);
}

bool MachineLink::pass_on(const quic::Datagram& datagram, const quic::DatagramHeader& header) {
  if (datagram.payload.size() > k_max_datagram) return false;
  const std::lock_guard lock(sending_);
  const auto owner = fleet_.owner_of(header);
  if (!owner) return false;
  if (!rate_.take(monotonic_now())) {
    ++dropped_;
    return true;
  }
  const std::size_t size = sealers_[*owner].seal(datagram, buffer_);
  sockaddr_storage address;
  const bool ipv6 = socket_->local_address().family == Address::Family::kIpv6;
  const socklen_t length = to_sockaddr(fleet_.machines()[*owner].address, ipv6, address);
  const auto sent = sendto(socket_->descriptor(), buffer_.data(), size, 0,
                           reinterpret_cast<const sockaddr*>(&address), length);
  ++(sent < 0 ? dropped_ : sent_);
  return true;
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
  auto datagram = opener_.open(sealed.payload, now);
  const auto local = std::ranges::find_if(config_.client_addresses, [&](const Address& address) {
    return datagram && address.family == datagram->path.remote.family;
  });
  if (!datagram || local == config_.client_addresses.end()) {
    ++refused_;
    return;
  }
  ++received_;
  datagram->path.local = *local;
  group_->deliver(*datagram);
}

MachineLink::Counts MachineLink::counts() const { return {sent_, dropped_, received_, refused_}; }

void MachineLink::close(std::function<void()> done) {
  if (!socket_) {
    if (done) done();
    return;
  }
  group_->set_machines(nullptr);
  std::exchange(socket_, nullptr)->close(std::move(done));
}

}  // namespace sheaf::io
