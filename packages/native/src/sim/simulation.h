#pragma once

#include <functional>
#include <iosfwd>
#include <map>
#include <queue>
#include <string>
#include <vector>

#include "sim/capture.h"
#include "sim/host.h"
#include "sim/network.h"

namespace sheaf::quic {

// Hosts and a network in virtual time. Everything follows from the seed: the same seed gives the
// same bytes at the same times. Events at one instant happen in the order in which they were
// scheduled.
class Simulation {
 public:
  explicit Simulation(std::uint64_t seed);

  std::uint64_t seed() const { return seed_; }
  Time now() const { return now_; }
  // Random numbers for hosts; the network has its own.
  Random& random() { return random_; }
  // Adds a host, which outlives the simulation. `connect` refers to its name.
  void add_host(const std::string& name, Host& host);
  // As Network::connect
  NetworkPath& connect(const NetworkNode& near, const NetworkNode& far, const LinkConfig& there,
                       const LinkConfig& back) {
    return network_.connect(near, far, there, back);
  }
  NetworkPath& connect(const NetworkNode& near, const NetworkNode& far, const LinkConfig& both) {
    return network_.connect(near, far, both, both);
  }
  // As Network::share
  NetworkPath& share(const NetworkPath& path, const NetworkNode& near, const NetworkNode& far) {
    return network_.share(path, near, far);
  }
  // As Network::add_trunk and lead_through
  std::size_t add_trunk(const LinkConfig& both) { return network_.add_trunk(both, both); }
  std::size_t add_trunk(const LinkConfig& there, const LinkConfig& back) {
    return network_.add_trunk(there, back);
  }
  void lead_through(const NetworkPath& path, std::size_t trunk) {
    network_.lead_through(path, trunk);
  }
  // As Network::add_tree and add_branch
  NetworkPath& add_tree(const NetworkNode& source, const Address& group, const std::string& host,
                        const LinkConfig& link) {
    return network_.add_tree(source, group, host, link);
  }
  NetworkPath& add_branch(const NetworkPath& from, const std::string& host,
                          const LinkConfig& link) {
    return network_.add_branch(from, host, link);
  }
  // As Network::connect_as
  void connect_as(const std::string& host, const NetworkPath& path, const LinkConfig& link) {
    network_.connect_as(host, path, link);
  }
  // Writes what a host sends and receives from now on. The capture outlives the simulation. The
  // owner of the hosts adds their TLS secrets to it.
  void capture(const std::string& host, Capture& capture);
  void rebind(NetworkPath& path, const Address& translated) { network_.rebind(path, translated); }
  // Runs an action at that time. Hosts may send afterwards.
  void at(Time when, std::function<void()> action);
  void after(Duration delay, std::function<void()> action) { at(now_ + delay, std::move(action)); }

  enum class Outcome : std::uint8_t {
    kReached,    // the predicate holds
    kTimeLimit,  // it did not come to hold in time
    kIdle,       // nothing will ever happen any more
    kLivelock,   // endless work at one instant: some host has a bug
  };
  // Runs until the predicate holds, which is checked after every event. `limit` counts from now.
  Outcome run_until(const std::function<bool()>& reached, Duration limit);
  // Lets this time pass.
  Outcome run_for(Duration duration);

  const Network& network() const { return network_; }
  std::uint64_t events() const { return events_; }
  // Hash of every delivered datagram with its time and place, equal for equal runs
  std::uint64_t digest() const { return digest_; }

 private:
  struct Event {
    enum class Kind : std::uint8_t { kHost, kLink, kAction };
    Time when;
    std::uint64_t sequence = 0;
    Kind kind = Kind::kAction;
    std::size_t index = 0;
    bool operator<(const Event& other) const {  // the next one is the largest
      return when != other.when ? when > other.when : sequence > other.sequence;
    }
  };
  struct HostEntry {
    std::string name;
    Host* host = nullptr;
    // When the host wants its turn, and its place among the events of that instant
    Time scheduled = k_never;
    std::uint64_t sequence = 0;
    Time queued = k_never;  // of the next entry in the queue, which may come sooner
    Capture* capture = nullptr;
  };

  void schedule(Time when, Event::Kind kind, std::size_t index);
  void reschedule_host(std::size_t index);
  void queue_host(std::size_t index);
  void reschedule_link(std::size_t index);
  void settle_all_hosts();
  void process(const Event& event);
  void deliver_arrivals(std::size_t link);
  void branch_off(const Network::Route& tree);
  void transmit(std::size_t host);
  void send(std::size_t host, const TransmitBatch& batch);
  void receive(std::size_t host, LinkDatagram& datagram);
  void digest(const Network::Route& route, const LinkDatagram& datagram);
  std::size_t host_index(const std::string& name) const;
  std::size_t receiver_of(const Network::Route& route);

  std::uint64_t seed_;
  SeededRandom random_;
  Network network_;
  Time now_;
  std::vector<HostEntry> hosts_;
  std::map<std::string, std::size_t> host_indices_;
  std::vector<Time> link_scheduled_;
  std::vector<std::function<void()>> actions_;
  std::priority_queue<Event> queue_;
  std::vector<std::uint8_t> buffer_;
  std::vector<std::uint8_t> own_copy_;  // of a datagram that others share
  std::vector<LinkDatagram> flight_;    // what arrived at a part of a tree at this instant
  std::vector<std::size_t> receivers_;
  std::vector<std::size_t> receiver_of_route_;
  std::uint64_t next_sequence_ = 0;
  std::uint64_t events_ = 0;
  std::uint64_t work_at_instant_ = 0;
  std::uint64_t digest_ = 0xcbf29ce484222325u;
};

std::ostream& operator<<(std::ostream& out, Simulation::Outcome outcome);

}  // namespace sheaf::quic
