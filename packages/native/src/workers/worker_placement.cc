#include "workers/worker_placement.h"

namespace sheaf::workers {

using quic::ConnectionId;
using quic::Owner;

bool WorkerPlacement::leads_here(const ConnectionId& id) const {
  return group_->steering().worker_of({id.bytes.data(), id.length}) == worker_;
}

void WorkerPlacement::add(const ConnectionId& id, Source source) {
  group_->recent_ids().add(id);
  if (!leads_here(id)) group_->routes().add(id, {worker_, source});
}

void WorkerPlacement::remove(const ConnectionId& id) {
  if (!leads_here(id)) group_->routes().remove(id, worker_);
}

unsigned WorkerPlacement::owner_of(quic::Bytes id, const quic::DatagramHeader& header) const {
  if (id.size() > ConnectionId::k_max_length) return worker_;
  if (const auto known = group_->routes().find(ConnectionId(id), header.may_open())) return *known;
  // Where the kernel goes by addresses, it gives a client's first packets, whose id is the client's
  // choice, to one worker, too. That one keeps them.
  if (header.may_open() && !group_->steered()) return worker_;
  return group_->steering().worker_of(id).value_or(worker_);
}

Owner WorkerPlacement::pass_on(const quic::Datagram& datagram, const quic::DatagramHeader& header,
                               quic::Origin origin) {
  // Two workers that disagree would pass it back and forth.
  if (origin == quic::Origin::kNetwork) {
    const Owner owner = pass_to_owner(datagram, header);
    if (owner != Owner::kNobody) return owner;
  }
  return group_->pass_to_predecessor(datagram, header);
}

Owner WorkerPlacement::pass_to_owner(const quic::Datagram& datagram,
                                     const quic::DatagramHeader& header) {
  const Owner owner = group_->pass_to_machine(datagram, header);
  if (owner != Owner::kNobody) return owner;
  const unsigned worker = owner_of(header.destination, header);
  if (worker == worker_) return Owner::kNobody;
  group_->pass_on(worker_, worker, datagram);
  return Owner::kAnother;
}

}  // namespace sheaf::workers
