#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "steering/steering.h"
#include "workers/mailbox.h"
#include "workers/shared_routes.h"

namespace sheaf::workers {

// The endpoints of one address, each in a thread of its own, and what they have in common. All
// threads use it at the same time.
class WorkerGroup {
 public:
  struct Counts {
    std::uint64_t passed_on = 0;  // datagrams of other workers
    std::uint64_t taken = 0;      // datagrams that others had for this one
    std::uint64_t lost = 0;       // of those passed on, because the other one's mailbox was full
  };

  explicit WorkerGroup(const quic::Steering& steering)
      : steering_(steering), members_(steering.workers()) {}

  const quic::Steering& steering() const { return steering_; }
  // Whether the kernel gives each worker the datagrams of its ids. It goes by addresses otherwise.
  bool steered() const { return steered_; }
  // To be called before the first worker starts.
  void set_steered(bool steered) { steered_ = steered; }
  SharedRoutes& routes() { return routes_; }

  // Starts a worker; a worker that ended may start again. See Mailbox::open for `wake`.
  void join(unsigned worker, std::function<void()> wake);
  // Ends a worker, whose connections are gone.
  void leave(unsigned worker);
  // Gives another worker a datagram.
  void pass_on(unsigned from, unsigned to, const quic::Datagram& datagram);
  template <typename Sink>
  std::size_t take(unsigned worker, Sink&& sink) {
    const std::size_t count = members_[worker].mailbox.take(std::forward<Sink>(sink));
    members_[worker].taken += count;
    return count;
  }
  Counts counts(unsigned worker) const;

 private:
  struct Member {
    Mailbox mailbox;
    std::atomic<std::uint64_t> passed_on = 0;
    std::atomic<std::uint64_t> taken = 0;
    std::atomic<std::uint64_t> lost = 0;
  };

  quic::Steering steering_;
  bool steered_ = true;
  SharedRoutes routes_;
  std::vector<Member> members_;
};

}  // namespace sheaf::workers
