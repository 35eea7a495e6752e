#include "sim/simulation.h"

#include <algorithm>
#include <cassert>
#include <ostream>
#include <utility>

namespace sheaf::quic {

namespace {

// Start time; not zero, so that an unset time is noticed
constexpr Time k_start{std::chrono::seconds(1)};
constexpr std::size_t k_batch_bytes = 64 << 10;
// Bound on events and batches at one instant, more than any window holds
constexpr std::uint64_t k_livelock = 1 << 20;

}  // namespace

Simulation::Simulation(std::uint64_t seed)
    : seed_(seed), random_(seed), network_(random_.next()), now_(k_start), buffer_(k_batch_bytes) {}

void Simulation::add_host(const std::string& name, Host& host) {
  const bool is_new = host_indices_.try_emplace(name, hosts_.size()).second;
  assert(is_new && "there is a host of this name already");
  static_cast<void>(is_new);
  hosts_.push_back({.name = name, .host = &host});
}

void Simulation::capture(const std::string& host, Capture& capture) {
  hosts_[host_index(host)].capture = &capture;
}

void Simulation::at(Time when, std::function<void()> action) {
  actions_.push_back(std::move(action));
  schedule(std::max(when, now_), Event::Kind::kAction, actions_.size() - 1);
}

Simulation::Outcome Simulation::run_for(Duration duration) {
  const Time end = now_ + duration;
  const Outcome outcome = run_until([] { return false; }, duration);
  if (outcome != Outcome::kLivelock) now_ = end;
  return outcome;
}

Simulation::Outcome Simulation::run_until(const std::function<bool()>& reached, Duration limit) {
  const Time end = now_ + limit;
  work_at_instant_ = 0;
  // The caller may have used hosts since the last run.
  settle_all_hosts();
  while (!reached()) {
    if (queue_.empty()) return Outcome::kIdle;
    const Event event = queue_.top();
    if (event.when > end) {
      now_ = end;
      return Outcome::kTimeLimit;
    }
    queue_.pop();
    if (event.when > now_) work_at_instant_ = 0;
    now_ = std::max(now_, event.when);
    process(event);
    if (work_at_instant_ > k_livelock) return Outcome::kLivelock;
  }
  return Outcome::kReached;
}

// --- events -------------------------------------------------------------------------------------

void Simulation::schedule(Time when, Event::Kind kind, std::size_t index) {
  queue_.push({when, next_sequence_++, kind, index});
}

// Schedules a host's timeout. An earlier entry stays in the queue. When its turn comes, it takes
// its place at the later time: hosts put their timeouts off with every datagram.
void Simulation::reschedule_host(std::size_t index) {
  HostEntry& entry = hosts_[index];
  const Time when = entry.host->next_timeout();
  if (when == entry.scheduled) return;
  entry.scheduled = when;
  if (when == k_never) return;
  entry.sequence = next_sequence_++;
  if (when < entry.queued) queue_host(index);
}

void Simulation::queue_host(std::size_t index) {
  HostEntry& entry = hosts_[index];
  entry.queued = entry.scheduled;
  queue_.push({entry.scheduled, entry.sequence, Event::Kind::kHost, index});
}

void Simulation::reschedule_link(std::size_t index) {
  if (index >= link_scheduled_.size()) link_scheduled_.resize(network_.link_count(), k_never);
  const Time when = network_.link(index).next_timeout();
  if (when == link_scheduled_[index]) return;
  link_scheduled_[index] = when;
  if (when != k_never) schedule(when, Event::Kind::kLink, index);
}

void Simulation::settle_all_hosts() {
  for (std::size_t index = 0; index < hosts_.size(); ++index) transmit(index);
}

void Simulation::process(const Event& event) {
  switch (event.kind) {
    case Event::Kind::kHost: {
      HostEntry& entry = hosts_[event.index];
      if (entry.queued == event.when) entry.queued = k_never;
      if (entry.scheduled != event.when) {
        if (entry.scheduled < entry.queued) queue_host(event.index);
        return;
      }
      entry.scheduled = k_never;
      entry.host->on_timeout(now_);
      transmit(event.index);
      break;
    }
    case Event::Kind::kLink:
      if (link_scheduled_[event.index] != event.when) return;
      link_scheduled_[event.index] = k_never;
      deliver_arrivals(event.index);
      break;
    case Event::Kind::kAction:
      std::exchange(actions_[event.index], nullptr)();
      settle_all_hosts();
      break;
  }
  ++events_;
  ++work_at_instant_;
}

void Simulation::deliver_arrivals(std::size_t link) {
  // Hosts send when everything of this instant has arrived, in the order in which they first
  // received something.
  receivers_.clear();
  flight_.clear();
  const Network::Route* tree = nullptr;
  for (;;) {
    const Network::Arrival arrival = network_.poll_arrival(link, now_);
    if (arrival.datagram == nullptr) break;
    if (arrival.route->last_link != link) {
      network_.go_on(arrival, now_);
      reschedule_link(arrival.route->last_link);
      continue;
    }
    digest(*arrival.route, *arrival.datagram);
    if (!arrival.route->branches.empty()) {
      tree = arrival.route;  // the only one on its link
      flight_.push_back(*arrival.datagram);
    }
    if (arrival.route->receiver().empty()) continue;
    const std::size_t receiver = receiver_of(*arrival.route);
    if (std::ranges::find(receivers_, receiver) == receivers_.end()) receivers_.push_back(receiver);
    receive(receiver, *arrival.datagram);
  }
  if (tree != nullptr) branch_off(*tree);
  reschedule_link(link);
  for (std::size_t receiver : receivers_) transmit(receiver);
}

// Sends all that arrived at once to one branch after the other: the state of a branch is in the
// processor's cache for all of it.
void Simulation::branch_off(const Network::Route& tree) {
  for (const Network::Route* branch : tree.branches) {
    for (const LinkDatagram& datagram : flight_) network_.branch_off(*branch, datagram, now_);
    reschedule_link(branch->link);
  }
}

void Simulation::transmit(std::size_t index) {
  Host& host = *hosts_[index].host;
  while (work_at_instant_ <= k_livelock) {
    TransmitBatch batch{.buffer = buffer_, .path = {}};
    host.poll_transmit(batch, now_);
    if (batch.size == 0) break;
    assert(batch.segment_size > 0);
    ++work_at_instant_;
    send(index, batch);
  }
  reschedule_host(index);
}

void Simulation::send(std::size_t host, const TransmitBatch& batch) {
  const Network::Route* route = network_.find(hosts_[host].name, batch.path);
  for (Bytes rest(buffer_.data(), batch.size); !rest.empty();) {
    const Bytes datagram = rest.first(std::min(batch.segment_size, rest.size()));
    rest = rest.subspan(datagram.size());
    if (Capture* capture = hosts_[host].capture) {
      capture->add({.when = now_,
                    .direction = CapturedDatagram::Direction::kOutbound,
                    .path = batch.path,
                    .ecn = batch.ecn,
                    .payload = datagram});
    }
    if (route == nullptr) {
      network_.count_unroutable();
    } else {
      network_.send(*route, datagram, batch.ecn, now_);
    }
  }
  if (route != nullptr) reschedule_link(route->link);
}

void Simulation::receive(std::size_t host, LinkDatagram& datagram) {
  const LinkHeader& header = datagram.header;
  // Copies the datagram before the host decrypts it in place.
  if (Capture* capture = hosts_[host].capture) {
    capture->add({.when = now_,
                  .direction = CapturedDatagram::Direction::kInbound,
                  .path = header.path,
                  .ecn = header.ecn,
                  .payload = datagram.payload()});
  }
  MutableBytes payload;
  if (datagram.is_shared()) {
    own_copy_.assign(datagram.payload().begin(), datagram.payload().end());
    payload = own_copy_;
  } else {
    payload = datagram.own_payload();
  }
  hosts_[host].host->receive({.payload = payload, .path = header.path, .ecn = header.ecn}, now_);
}

void Simulation::digest(const Network::Route& route, const LinkDatagram& datagram) {
  for (const std::uint64_t word :
       {to_nanoseconds(now_), std::uint64_t{route.index}, datagram.hash()}) {
    digest_ = mix_word(digest_, word);
  }
}

// Looks a route's receiver up once.
std::size_t Simulation::receiver_of(const Network::Route& route) {
  constexpr std::size_t k_unknown = SIZE_MAX;
  if (route.index >= receiver_of_route_.size()) {
    receiver_of_route_.resize(route.index + 1, k_unknown);
  }
  std::size_t& receiver = receiver_of_route_[route.index];
  if (receiver == k_unknown) receiver = host_index(route.receiver());
  return receiver;
}

std::size_t Simulation::host_index(const std::string& name) const {
  const auto found = host_indices_.find(name);
  assert(found != host_indices_.end() && "a path leads to a host that was not added");
  return found->second;
}

std::ostream& operator<<(std::ostream& out, Simulation::Outcome outcome) {
  switch (outcome) {
    case Simulation::Outcome::kReached:
      return out << "reached";
    case Simulation::Outcome::kTimeLimit:
      return out << "time limit";
    case Simulation::Outcome::kIdle:
      return out << "idle";
    case Simulation::Outcome::kLivelock:
      return out << "livelock";
  }
  return out;
}

}  // namespace sheaf::quic
