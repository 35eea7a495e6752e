#pragma once

#include <array>
#include <list>

#include "endpoint/admission.h"
#include "endpoint/endpoint_config.h"
#include "endpoint/endpoint_slot.h"
#include "endpoint/limit_hit.h"
#include "endpoint/memory_governor.h"
#include "endpoint/shared_counts.h"

namespace sheaf::quic {

// Enforces the limits of one connection, of one network and of all connections of an endpoint.
// Decides which clients are admitted, and which connections make room.
class EndpointLimits {
 public:
  using Hits = std::array<std::uint64_t, static_cast<std::size_t>(LimitHit::kCount)>;
  class Listener {
   public:
    // Reports that a connection was closed or forgotten. It may have something to send.
    virtual void on_made_room(EndpointSlot& slot) = 0;

   protected:
    ~Listener() = default;
  };

  // All three arguments must outlive this object.
  EndpointLimits(const EndpointConfig& config, const EndpointSlots& slots, Listener& listener);

  // --- new connections --------------------------------------------------------------------------
  // Decides about a client's first packet. Closes idle connections when that makes room for it. A
  // client that is accepted has a place: `join` or `forgo` follows.
  Admission::Decision admit(const Address& remote, bool validated, Time now);
  // Gives the place of a client back that was accepted.
  void forgo(const Address& remote);
  // As `admit` and `join`, for a connection of another server. Returns whether there is a place.
  bool admit_imported();
  void join_imported(EndpointSlot& slot) { slot.counted = true; }
  void forgo_imported();
  // Closes idle connections, of this network or of those that have the most, for the sake of other
  // endpoints.
  void make_room(const std::optional<NetworkKey>& network, Time now) {
    evict_idle(network ? &*network : nullptr, 1 + slots_.size() / 100, now);
  }
  void give_places() { counts_.give_all(); }
  // Returns how many bytes a new connection from this address may use.
  std::uint64_t memory_for(const Address& remote) const {
    return governor_.share(networks_.of(remote).memory);
  }
  // Returns whether so many handshakes are pending that each gets less memory.
  bool many_half_open() const {
    return half_open_.size() >= config_.admission.half_open_before_retry;
  }
  // Takes a client whose handshake begins. The oldest pending handshakes make room for it.
  void join(EndpointSlot& slot, const Address& remote, Time now);

  // --- connections that live --------------------------------------------------------------------
  void end_half_open(EndpointSlot& slot);
  // Updates what the connection holds, and tells it what it may hold.
  void account(EndpointSlot& slot, Time now);
  // Must be called before the connection is freed.
  void leave(EndpointSlot& slot);

  // --- facts ------------------------------------------------------------------------------------
  std::size_t half_open_count() const { return half_open_.size(); }
  std::uint64_t memory_bytes() const { return governor_.used(); }
  void count(LimitHit hit) { ++hits_[static_cast<std::size_t>(hit)]; }
  const Hits& hits() const { return hits_; }

 private:
  Admission::Load load_from(const Address& remote) const;
  void forget_memory(EndpointSlot& slot);
  // Closes idle connections of this network, or of the networks that have the most. Returns false
  // when it is too early for that.
  bool evict_idle(const NetworkKey* network, std::size_t count, Time now);
  void give_place(EndpointSlot& slot);
  void evict_slow(Time now);
  void evict(EndpointSlot& slot, LimitHit hit, Time now);

  const EndpointConfig& config_;
  const EndpointSlots& slots_;
  Listener& listener_;
  Admission admission_;
  HeldCounts counts_;
  Networks networks_;
  MemoryGovernor governor_;
  TokenBucket eviction_rounds_;
  std::list<EndpointSlot*> half_open_;  // oldest first
  Hits hits_{};
};

}  // namespace sheaf::quic
