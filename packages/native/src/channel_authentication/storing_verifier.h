#pragma once

#include "channel_authentication/candidate_store.h"
#include "channel_authentication/proven_queue.h"

namespace sheaf::quic {

// The part that is the same in all schemes whose proof comes after the packet
class StoringVerifier : public Verifier {
 public:
  std::optional<ProvenPacket> next_proven() override {
    return proven_.next(store_, trailer_length());
  }
  Time next_timeout() const override {
    const Time oldest = store_.oldest();
    return oldest == k_never ? k_never : oldest + max_wait_;
  }
  void on_timeout(Time now) override { store_.drop_until(now - max_wait_); }
  VerifierCounts counts() const override {
    VerifierCounts counts = counts_;
    counts.evicted_packets = store_.evicted();
    return counts;
  }

 protected:
  StoringVerifier(std::size_t max_bytes, std::size_t max_datagram, Duration max_wait,
                  Random& random)
      : store_(max_bytes, max_datagram, random), max_wait_(max_wait) {}

  Verdict keep(const ReceivedPacket& packet, std::uint32_t label, Time now) {
    const Verdict verdict = store_.add(packet, label, now);
    if (verdict == Verdict::kRefused) ++counts_.refused_packets;
    return verdict;
  }
  // Later packets than this one are near: numbers far below are refused.
  void set_reach(PacketNumber proven) {
    const PacketNumber back = store_.reach() / 2;
    if (proven > back) store_.set_low(proven - back);
  }
  void drop_forged(CandidateStore::Slot slot) {
    store_.release(slot);
    ++counts_.forged_packets;
  }

  CandidateStore store_;
  ProvenQueue proven_;
  Duration max_wait_;
  VerifierCounts counts_;
};

}  // namespace sheaf::quic
