#include "workers/worker_group.h"

#include <mutex>
#include <utility>

namespace sheaf::workers {

void WorkerGroup::join(unsigned worker, std::function<void()> wake) {
  members_[worker].mailbox.open(std::move(wake));
}

void WorkerGroup::leave(unsigned worker) {
  members_[worker].mailbox.close();
  routes_.remove_all(worker);
}

void WorkerGroup::set(Elsewhere*& place, Elsewhere* elsewhere) {
  const std::unique_lock lock(elsewhere_mutex_);
  place = elsewhere;
}

quic::Owner WorkerGroup::pass_to(Elsewhere* const& place, const quic::Datagram& datagram,
                                 const quic::DatagramHeader& header) {
  const std::shared_lock lock(elsewhere_mutex_);
  return place ? place->pass_on(datagram, header) : quic::Owner::kNobody;
}

std::optional<std::string> WorkerGroup::scope_of_lost(quic::Bytes server_id) {
  const std::shared_lock lock(elsewhere_mutex_);
  return machines_ ? machines_->scope_of_lost(server_id) : std::nullopt;
}

void WorkerGroup::set_reading(bool reading) {
  reading_ = reading;
  wake_all();
}

void WorkerGroup::wake_all() {
  for (Member& member : members_) member.mailbox.wake();
}

void WorkerGroup::report_turn() {
  const std::shared_lock lock(elsewhere_mutex_);
  if (machines_) machines_->on_worker_turn();
}

void WorkerGroup::hand_over() {
  handed_over_ = true;
  set_reading(false);
}

void WorkerGroup::deliver(const quic::Datagram& datagram, quic::Origin origin) {
  const auto header = quic::peek_datagram(datagram.payload, steering_.id_length());
  if (header.destination.size() > quic::ConnectionId::k_max_length) return;
  const auto known = routes_.find(quic::ConnectionId(header.destination), header.may_open());
  // All datagrams of one client go to one worker, also those with ids that are too short.
  const unsigned by_address = datagram.path.remote.port % steering_.workers();
  const unsigned owner =
      known.value_or(steering_.worker_of(header.destination).value_or(by_address));
  members_[owner].mailbox.push(datagram, origin);
}

void WorkerGroup::pass_on(unsigned from, unsigned to, const quic::Datagram& datagram) {
  ++members_[from].passed_on;
  if (!members_[to].mailbox.push(datagram, quic::Origin::kWorker)) ++members_[from].lost;
}

void WorkerGroup::ask_for_room(unsigned from, const RoomRequest& network) {
  const std::lock_guard lock(room_mutex_);
  for (unsigned worker = 0; worker < members_.size(); ++worker) {
    if (worker == from) continue;
    std::optional<RoomRequest>& request = members_[worker].room_request;
    const bool differs = request && *request != network;
    request.emplace(differs ? RoomRequest() : network);
    members_[worker].mailbox.wake();
  }
}

std::optional<WorkerGroup::RoomRequest> WorkerGroup::take_room_request(unsigned worker) {
  const std::lock_guard lock(room_mutex_);
  return std::exchange(members_[worker].room_request, std::nullopt);
}

WorkerGroup::Counts WorkerGroup::counts(unsigned worker) const {
  const Member& member = members_[worker];
  return {member.passed_on, member.taken, member.lost};
}

}  // namespace sheaf::workers
