#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <vector>

#include "crypto/replay_record.h"
#include "crypto/seen_filter.h"
#include "endpoint/endpoint.h"
#include "steering/steering.h"
#include "workers/elsewhere.h"
#include "workers/mailbox.h"
#include "workers/recent_ids.h"
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
  RecentIds& recent_ids() { return recent_ids_; }
  // Tickets and tokens of one worker are valid at all, each for one use.
  const std::shared_ptr<quic::ReplayRecord>& replays() const { return replays_; }
  const std::shared_ptr<quic::SeenFilter>& used_tokens() const { return used_tokens_; }
  // Limits of clients are those of all workers.
  const std::shared_ptr<quic::SharedCounts>& clients() const { return clients_; }

  // Starts a worker; a worker that ended may start again. See Mailbox::open for `wake`.
  void join(unsigned worker, std::function<void()> wake);
  // Ends a worker, whose connections are gone.
  void leave(unsigned worker);
  // Passes datagrams on to other machines, and to processes before this one, from now on; null: no
  // longer. The calls return when no thread uses the one before.
  void set_machines(Elsewhere* machines) { set(machines_, machines); }
  void set_predecessors(Elsewhere* predecessors) { set(predecessors_, predecessors); }
  quic::Owner pass_to_machine(const quic::Datagram& datagram, const quic::DatagramHeader& header) {
    return pass_to(machines_, datagram, header);
  }
  // Returns the reset scope of a machine that is lost.
  std::optional<std::string> scope_of_lost(quic::Bytes server_id);
  // What nobody knows is another's as well when another process has taken over: only that one may
  // open connections, and reset them.
  quic::Owner pass_to_predecessor(const quic::Datagram& datagram,
                                  const quic::DatagramHeader& header) {
    return handed_over_ ? quic::Owner::kAnother : pass_to(predecessors_, datagram, header);
  }
  // Whether the workers read their sockets
  bool reading() const { return reading_; }
  void set_reading(bool reading);
  // Leaves the sockets to another process, which passes on what belongs to connections here.
  void hand_over();
  // Gives a datagram of another machine to the worker that it belongs to. With kNetwork, it is one
  // that a worker had passed on before, and is asked about again.
  void deliver(const quic::Datagram& datagram, quic::Origin origin = quic::Origin::kWorker);
  // Gives another worker a datagram.
  void pass_on(unsigned from, unsigned to, const quic::Datagram& datagram);
  template <typename Sink>
  std::size_t take(unsigned worker, Sink&& sink) {
    const std::size_t count = members_[worker].mailbox.take(std::forward<Sink>(sink));
    members_[worker].taken += count;
    report_turn();
    return count;
  }
  // Makes all workers take what others have for them, though there may be nothing.
  void wake_all();
  // Asks all other workers to close idle connections, of this network or of any.
  using RoomRequest = std::optional<quic::NetworkKey>;
  void ask_for_room(unsigned from, const RoomRequest& network);
  // Returns what was asked of a worker since the last call.
  std::optional<RoomRequest> take_room_request(unsigned worker);
  Counts counts(unsigned worker) const;

 private:
  struct Member {
    Mailbox mailbox;
    std::atomic<std::uint64_t> passed_on = 0;
    std::atomic<std::uint64_t> taken = 0;
    std::atomic<std::uint64_t> lost = 0;
    std::optional<RoomRequest> room_request;  // of any network, when several were asked for
  };

  void set(Elsewhere*& place, Elsewhere* elsewhere);
  void report_turn();
  quic::Owner pass_to(Elsewhere* const& place, const quic::Datagram& datagram,
                      const quic::DatagramHeader& header);

  quic::Steering steering_;
  bool steered_ = true;
  SharedRoutes routes_;
  RecentIds recent_ids_;
  std::shared_ptr<quic::ReplayRecord> replays_ = std::make_shared<quic::ReplayRecord>();
  std::shared_ptr<quic::SeenFilter> used_tokens_ = quic::make_used_tokens();
  std::shared_ptr<quic::SharedCounts> clients_ = std::make_shared<quic::SharedCounts>();
  std::atomic<bool> reading_ = true;
  std::atomic<bool> handed_over_ = false;
  std::shared_mutex elsewhere_mutex_;
  Elsewhere* machines_ = nullptr;
  Elsewhere* predecessors_ = nullptr;
  std::mutex room_mutex_;  // of the requests for room
  std::vector<Member> members_;
};

}  // namespace sheaf::workers
