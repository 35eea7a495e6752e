#pragma once

#include "channel_authentication/candidate_store.h"
#include "util/ring.h"

namespace sheaf::quic {

// Candidates that were proven and that nobody fetched yet
class ProvenQueue {
 public:
  bool empty() const { return slots_.empty(); }
  void add(CandidateStore::Slot slot) { slots_.push_back(slot); }

  // Returns the next packet without its trailer. Gives the memory of the one before back.
  std::optional<ProvenPacket> next(CandidateStore& store, std::size_t trailer_length) {
    if (fetched_ != CandidateStore::k_none) store.release(fetched_);
    fetched_ = CandidateStore::k_none;
    if (slots_.empty()) return std::nullopt;
    fetched_ = slots_.front();
    slots_.pop_front();
    const CandidateStore::Candidate candidate = store.candidate(fetched_);
    return ProvenPacket{
        .number = candidate.number,
        .key_sequence = candidate.key_sequence,
        .sealed = candidate.datagram.first(candidate.datagram.size() - trailer_length),
        .by_group = candidate.by_group};
  }

 private:
  Ring<CandidateStore::Slot> slots_;
  CandidateStore::Slot fetched_ = CandidateStore::k_none;
};

}  // namespace sheaf::quic
