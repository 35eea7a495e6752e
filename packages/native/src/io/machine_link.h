#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "io/deadline_timer.h"
#include "io/loop_thread.h"
#include "io/system_random.h"
#include "io/watched_socket.h"
#include "machines/contact.h"
#include "machines/fleet.h"
#include "machines/forwarded_datagram.h"
#include "machines/unanswered.h"
#include "workers/worker_group.h"

namespace sheaf::io {

struct MachineLinkConfig {
  quic::Address listen;  // for datagrams from other machines
  quic::RoutableIds::Server server;
  quic::ServerSecrets secrets;
  bool shares_first = false;  // as of machines::Fleet
  // Time between two queries to a machine. With this one, a machine that ends is noticed about as
  // soon as its heartbeats are missed.
  quic::Duration between_queries = std::chrono::milliseconds(500);
  // Local addresses that clients of this machine reach, one for each address family
  std::vector<quic::Address> client_addresses;
};

// The way between the machines of a fleet: sends datagrams that belong to others, and takes those
// that others have for this one. It asks the others all the time whether they are there, so that it
// knows which of them are lost. Bounded in what it sends, opens and answers. Its thread serves no
// JavaScript, which may hang while the workers serve well (RFC 9000 §21.11): a query is answered by
// the first worker that runs.
class MachineLink final : public workers::Elsewhere {
 public:
  struct Counts {
    std::uint64_t sent = 0;
    std::uint64_t dropped = 0;  // too many at one time, or the network refused
    std::uint64_t received = 0;
    std::uint64_t refused = 0;  // not sealed by a machine of the fleet for this one
  };

  // Queries to a machine after which nobody knows any more whether others miss it
  static constexpr unsigned k_missing_for = 6;

  // The workers of `group` get what arrives.
  static quic::Result<std::unique_ptr<MachineLink>, SocketError> open(
      std::shared_ptr<workers::WorkerGroup> group, MachineLinkConfig config);
  ~MachineLink() override;

  // What follows is for the thread that opened the link.
  const quic::Address& local_address() const { return socket_->local_address(); }
  // Sets all other machines. While others miss one of them, it has to be said again and again: who
  // does not hear from others either must not hold it for lost.
  void set_machines(const std::vector<machines::Machine>& machines);
  void set_secrets(const quic::ServerSecrets& secrets);
  Counts counts() const;
  // Returns how many of the machines are lost.
  std::size_t lost_machines();

  quic::Owner pass_on(const quic::Datagram& datagram, const quic::DatagramHeader& header) override;
  std::optional<std::string> scope_of_lost(quic::Bytes server_id) override;
  void on_worker_turn() override;

 private:
  struct Peer {
    machines::ForwardSealer sealer;
    machines::Contact contact;
    bool was_lost = false;  // at the latest query
  };
  // A query of another machine
  struct Query {
    machines::Nonce nonce;
    quic::Address from;
  };

  MachineLink(std::shared_ptr<workers::WorkerGroup> group, MachineLinkConfig config);
  quic::Status<SocketError> start();
  void change_secrets(const quic::ServerSecrets& secrets);
  void make_peers(const std::vector<machines::Machine>& before);
  bool lost(std::size_t place) const;
  void ask_all();
  void answer_clients_of(const machines::Machine& machine);
  bool send(quic::Bytes bytes, const quic::Address& to);
  void on_ready();
  void take(const quic::Datagram& sealed, quic::Time now);
  void take_answer(const machines::Nonce& nonce);
  void take_query(const Query& query, quic::Time now);
  void take_datagram(quic::Datagram& datagram);

  std::shared_ptr<workers::WorkerGroup> group_;
  MachineLinkConfig config_;
  std::unique_ptr<LoopThread> thread_;
  std::unique_ptr<WatchedSocket> socket_;
  std::unique_ptr<DeadlineTimer> timer_;

  std::mutex sending_;  // of what follows, which all workers use, and the loop's thread changes
  SystemRandom random_;
  machines::Fleet fleet_;
  std::vector<Peer> peers_;  // of each machine
  unsigned asked_ = 0;       // queries to each machine since they were set
  machines::Unanswered unanswered_;
  std::vector<std::uint8_t> buffer_;
  quic::TokenBucket rate_;

  std::mutex answering_;        // of what follows
  std::vector<Query> queries_;  // without a response

  machines::ForwardOpener opener_;  // of the loop's thread, as what follows it
  quic::TokenBucket answers_;
  std::atomic<std::uint64_t> sent_ = 0;
  std::atomic<std::uint64_t> dropped_ = 0;
  std::atomic<std::uint64_t> received_ = 0;
  std::atomic<std::uint64_t> refused_ = 0;
};

}  // namespace sheaf::io
