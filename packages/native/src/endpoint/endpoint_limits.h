#pragma once

#include <array>
#include <list>

#include "endpoint/admission.h"
#include "endpoint/endpoint_config.h"
#include "endpoint/endpoint_slot.h"
#include "endpoint/limit_hit.h"
#include "endpoint/memory_governor.h"

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
  // Decides about a client's first packet. Closes idle connections when that makes room for it.
  Admission::Decision admit(const Address& remote, bool validated, Time now);
  // Returns whether the maximum number of connections is reached.
  bool full() const { return slots_.size() - evicted_ >= config_.admission.max_connections; }
  // Returns how many bytes a new connection from this address may use.
  std::uint64_t memory_for(const Address& remote) const {
    return governor_.share(networks_.of(remote).memory);
  }
  // Returns whether so many handshakes are pending that each gets less memory.
  bool many_half_open() const {
    return half_open_.size() >= config_.admission.half_open_before_retry;
  }
  // Counts a client whose handshake begins. The oldest pending handshakes make room for it.
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
  // Closes idle connections of this network, or of the networks that have the most.
  void evict_idle(const NetworkKey* network, std::size_t count, Time now);
  void evict_slow(Time now);
  void evict(EndpointSlot& slot, LimitHit hit, Time now);

  const EndpointConfig& config_;
  const EndpointSlots& slots_;
  Listener& listener_;
  Admission admission_;
  Networks networks_;
  MemoryGovernor governor_;
  TokenBucket eviction_rounds_;
  std::list<EndpointSlot*> half_open_;  // oldest first
  std::size_t evicted_ = 0;             // number of evicted connections in `slots_`
  Hits hits_{};
};

}  // namespace sheaf::quic
