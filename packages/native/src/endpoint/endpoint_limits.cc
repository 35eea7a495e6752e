#include "endpoint/endpoint_limits.h"

#include <algorithm>
#include <string>

#include "util/heap.h"

namespace sheaf::quic {

namespace {

// A connection that made a request just now is likely to make another.
constexpr Duration k_idle_before_eviction = std::chrono::seconds(1);
// Freed memory is returned to the system when it is at least this fraction (1/12) of the target.
constexpr std::uint64_t k_worth_returning = 12;
// Eviction rounds per second. Each examines all connections.
constexpr double k_eviction_rounds = 10;

// Names of what is counted, of all clients and of each network
enum class Counted : char { kConnections = 'c', kHalfOpen = 'h' };

// Name of the turns that handshakes have
constexpr const char* k_handshakes = "r";

std::string name_of(Counted what) { return {static_cast<char>(what)}; }
std::string name_of(Counted what, const NetworkKey& network) {
  return name_of(what).append(network.begin(), network.end());
}

}  // namespace

EndpointLimits::EndpointLimits(const EndpointConfig& config, const EndpointSlots& slots,
                               Listener& listener)
    : config_(config),
      slots_(slots),
      listener_(listener),
      admission_(config.admission),
      counts_(config.clients ? config.clients : std::make_shared<SharedCounts>()),
      governor_(config.memory),
      eviction_rounds_(k_eviction_rounds, k_eviction_rounds) {}

// --- new connections ----------------------------------------------------------------------------

Admission::Load EndpointLimits::load_from(const Address& remote) const {
  const NetworkKey network = network_of(remote);
  return {.connections = counts_.count(name_of(Counted::kConnections)),
          .half_open = counts_.count(name_of(Counted::kHalfOpen)),
          .half_open_from_here = counts_.count(name_of(Counted::kHalfOpen, network)),
          .connections_from_here = counts_.count(name_of(Counted::kConnections, network))};
}

Admission::Decision EndpointLimits::admit(const Address& remote, bool validated, Time now) {
  Admission::Load load = load_from(remote);
  if (admission_.full(load)) {
    // Anybody can write any address into a packet. Only a client that is there costs others their
    // connections.
    if (!validated && config_.admission.retry != RetryPolicy::kNever)
      return Admission::Decision::kRetry;
    const bool all = load.connections >= config_.admission.max_connections;
    const NetworkKey key = network_of(remote);
    const bool tried = evict_idle(all ? nullptr : &key, 1 + load.connections / 100, now);
    load = load_from(remote);
    if (admission_.full(load)) {
      count(all ? LimitHit::kConnections : LimitHit::kNetworkConnections);
      // This client comes too early for what they close.
      if (tried && config_.placement)
        config_.placement->ask_for_room(all ? std::nullopt : std::optional(key));
    }
  }
  if (admission_.refuses(load)) {
    if (!admission_.full(load)) count(LimitHit::kHalfOpen);
    return Admission::Decision::kRefuse;
  }
  const bool within_rate =
      counts_.take_turn(k_handshakes, config_.admission.handshakes_per_second, now);
  const auto decision = admission_.decide(load, validated, within_rate);
  if (decision != Admission::Decision::kAccept) return decision;
  const NetworkKey key = network_of(remote);
  const AdmissionConfig& most = config_.admission;
  const std::array<SharedCounts::Claim, 4> claims{
      {{name_of(Counted::kConnections), most.max_connections},
       {name_of(Counted::kConnections, key), most.max_connections_per_network},
       {name_of(Counted::kHalfOpen), most.max_half_open},
       {name_of(Counted::kHalfOpen, key), most.max_half_open}}};
  // Another endpoint may have been quicker.
  return counts_.take(claims) ? Admission::Decision::kRefuse : decision;
}

void EndpointLimits::forgo(const Address& remote) {
  const NetworkKey key = network_of(remote);
  for (const Counted what : {Counted::kConnections, Counted::kHalfOpen}) {
    counts_.give(name_of(what));
    counts_.give(name_of(what, key));
  }
}

bool EndpointLimits::admit_imported() {
  const SharedCounts::Claim claim{name_of(Counted::kConnections),
                                  config_.admission.max_connections};
  return !counts_.take({&claim, 1});
}

void EndpointLimits::forgo_imported() { counts_.give(name_of(Counted::kConnections)); }

// A client that exists completes its handshake within a few round trips. A handshake that takes
// longer probably belongs to none.
void EndpointLimits::join(EndpointSlot& slot, const Address& remote, Time now) {
  slot.network = &networks_.join(remote);
  slot.counted = true;
  while ((half_open_.size() + 1) * ConnectionDriver::k_half_open_memory >
             config_.admission.half_open_memory &&
         !half_open_.empty()) {
    EndpointSlot& oldest = *half_open_.front();
    end_half_open(oldest);
    oldest.driver->forget();
    count(LimitHit::kHalfOpen);
    listener_.on_made_room(oldest);
  }
  slot.half_open = true;
  slot.half_open_place = half_open_.insert(half_open_.end(), &slot);
  slot.last_busy = slot.last_relief = now;
}

// --- connections that live ----------------------------------------------------------------------

void EndpointLimits::end_half_open(EndpointSlot& slot) {
  slot.half_open = false;
  half_open_.erase(slot.half_open_place);
  counts_.give(name_of(Counted::kHalfOpen));
  counts_.give(name_of(Counted::kHalfOpen, slot.network->key));
}

void EndpointLimits::give_place(EndpointSlot& slot) {
  if (!slot.counted) return;
  slot.counted = false;
  counts_.give(name_of(Counted::kConnections));
  if (slot.network) counts_.give(name_of(Counted::kConnections, slot.network->key));
}

void EndpointLimits::forget_memory(EndpointSlot& slot) {
  governor_.change(slot.memory, 0);
  if (slot.network) slot.network->memory -= slot.memory;
  slot.memory = 0;
}

void EndpointLimits::leave(EndpointSlot& slot) {
  if (slot.half_open) end_half_open(slot);
  forget_memory(slot);
  give_place(slot);
  if (!slot.network) return;
  if (slot.evicted) --slot.network->evicted;
  networks_.leave(*slot.network);
}

void EndpointLimits::account(EndpointSlot& slot, Time now) {
  if (slot.evicted) return;
  const std::uint64_t memory = slot.driver->memory_bytes();
  if (!slot.driver->idle()) slot.last_busy = now;
  if (memory < slot.memory || memory <= MemoryGovernor::k_least) slot.last_relief = now;
  governor_.change(slot.memory, memory);
  if (slot.network) {
    slot.network->memory += memory - slot.memory;
    slot.driver->connection().streams().memory().set_total(governor_.share(slot.network->memory));
  }
  slot.memory = memory;
  if (governor_.exhausted()) evict_slow(now);
}

// --- eviction -----------------------------------------------------------------------------------

void EndpointLimits::evict(EndpointSlot& slot, LimitHit hit, Time now) {
  slot.evicted = true;
  give_place(slot);
  if (slot.network) ++slot.network->evicted;
  count(hit);
  const bool idle = hit == LimitHit::kIdleEvicted;
  slot.driver->close(idle ? config_.idle_close_error : config_.overload_error,
                     idle ? "makes room for others" : "holds too much and reads too little", now);
  slot.driver->connection().streams().drop();
  // A connection that is closing has no memory to free; if it counted, others would be closed
  // instead.
  forget_memory(slot);
  listener_.on_made_room(slot);
}

bool EndpointLimits::evict_idle(const NetworkKey* network, std::size_t count, Time now) {
  if (!eviction_rounds_.take(now)) return false;
  std::vector<EndpointSlot*> idle;
  for (const auto& [driver, slot] : slots_) {
    const bool here = slot->network && (!network || slot->network->key == *network);
    if (here && !slot->evicted && driver->idle() &&
        now - slot->last_busy >= k_idle_before_eviction) {
      idle.push_back(slot.get());
    }
  }
  // The network with the most connections gives first: its connection that was idle for the longest
  // time.
  const std::size_t taken = std::min(count, idle.size());
  std::partial_sort(idle.begin(), idle.begin() + static_cast<std::ptrdiff_t>(taken), idle.end(),
                    [](const EndpointSlot* one, const EndpointSlot* other) {
                      const std::size_t here = one->network->counted();
                      const std::size_t there = other->network->counted();
                      return here != there ? here > there : one->last_busy < other->last_busy;
                    });
  for (std::size_t i = 0; i < taken; ++i) evict(*idle[i], LimitHit::kIdleEvicted, now);
  return true;
}

void EndpointLimits::evict_slow(Time now) {
  if (!eviction_rounds_.take(now)) return;
  // A round examines all connections, so it frees more than is missing now.
  std::vector<EndpointSlot*> candidates;
  for (const auto& [driver, slot] : slots_) {
    if (slot->network && !slot->evicted && driver->handshake_completed()) {
      candidates.push_back(slot.get());
    }
  }
  // Connections of networks that have more than their share come first, then idle ones, then all
  // that hold more than the minimum. Within each group, the one that has returned nothing for the
  // longest time comes first.
  const auto rank = [&](const EndpointSlot* slot) {
    const bool holds = slot->memory > MemoryGovernor::k_least;
    if (holds && slot->network->memory > governor_.network_total()) return 0;
    if (slot->driver->idle()) return 1;
    return holds ? 2 : 3;
  };
  std::ranges::sort(candidates, [&](const EndpointSlot* one, const EndpointSlot* other) {
    if (rank(one) != rank(other)) return rank(one) < rank(other);
    return one->last_relief < other->last_relief;
  });
  const std::size_t held = governor_.used();
  for (EndpointSlot* slot : candidates) {
    if (governor_.used() <= governor_.target() || rank(slot) == 3) break;
    evict(*slot, slot->driver->idle() ? LimitHit::kIdleEvicted : LimitHit::kMemoryEvicted, now);
  }
  // Returning memory walks the whole heap, which is not worth it after closing a few idle
  // connections.
  const std::size_t freed = held - governor_.used();
  if (freed >= governor_.target() / k_worth_returning) return_freed_memory();
}

}  // namespace sheaf::quic
