#include "workers/worker_group.h"

namespace sheaf::workers {

void WorkerGroup::join(unsigned worker, std::function<void()> wake) {
  members_[worker].mailbox.open(std::move(wake));
}

void WorkerGroup::leave(unsigned worker) {
  members_[worker].mailbox.close();
  routes_.remove_all(worker);
}

void WorkerGroup::pass_on(unsigned from, unsigned to, const quic::Datagram& datagram) {
  ++members_[from].passed_on;
  if (!members_[to].mailbox.push(datagram)) ++members_[from].lost;
}

WorkerGroup::Counts WorkerGroup::counts(unsigned worker) const {
  const Member& member = members_[worker];
  return {member.passed_on, member.taken, member.lost};
}

}  // namespace sheaf::workers
