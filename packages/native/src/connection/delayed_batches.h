#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include "connection/transmit.h"
#include "util/ring.h"
#include "util/time.h"

namespace sheaf::quic {

// Sealed datagrams that leave later, in the order in which they were numbered.
class DelayedBatches {
 public:
  // Beyond that many, the oldest leaves at once: no window limits batches of acknowledgements, and
  // the client can make their wait long.
  static constexpr std::size_t k_max = 64;

  bool empty() const { return batches_.empty(); }
  // Returns when the next one leaves.
  Time next_due() const {
    if (batches_.empty()) return k_never;
    return batches_.size() > k_max ? Time::min() : batches_.front().due;
  }
  void clear() { batches_.clear(); }
  // Takes the content of a batch, which is empty then.
  void hold(TransmitBatch& batch, Time due) {
    if (!batches_.empty()) due = std::max(due, batches_.back().due);
    Held held{.due = due,
              .bytes = {batch.buffer.begin(), batch.buffer.begin() + batch.size},
              .segment_size = batch.segment_size,
              .path = batch.path,
              .ecn = batch.ecn};
    batches_.push_back(std::move(held));
    batch.size = batch.segment_size = 0;
  }
  // Fills a batch with the oldest one, whose bytes fit into any buffer that one was built in.
  void release(TransmitBatch& batch) {
    const Held& held = batches_.front();
    std::memcpy(batch.buffer.data(), held.bytes.data(), held.bytes.size());
    batch.size = held.bytes.size();
    batch.segment_size = held.segment_size;
    batch.path = held.path;
    batch.ecn = held.ecn;
    batches_.pop_front();
  }

 private:
  struct Held {
    Time due{};
    std::vector<std::uint8_t> bytes{};
    std::size_t segment_size = 0;
    AddressPair path{};
    Ecn ecn = Ecn::kNotEct;
  };
  Ring<Held> batches_;
};

}  // namespace sheaf::quic
