#pragma once

#include <vector>

#include "scheduler/stream/stream_scheduler.h"
#include "scheduler/stream/turn_order.h"
#include "util/flat_map.h"

namespace sheaf::quic {

// A scheduler that ignores the client's priorities: streams stand in one line.
class FlatScheduler : public StreamScheduler {
 public:
  void set_priority(StreamId, const StreamPriority&) final {}
  void forget(StreamId stream) final;
  void activate(StreamId stream, std::uint64_t remaining) final;
  void deactivate(StreamId stream) final;
  std::optional<StreamId> next(const SendOpportunity& opportunity) final;
  void on_sent(StreamId stream, const SentData& sent, const SendOpportunity& opportunity) final;

 protected:
  // Returns the place in the line: the least key is first, and equal keys are in order of
  // activation. `arrival` counts the streams in the order in which they first became active.
  virtual std::uint64_t place(std::uint64_t arrival) const = 0;
  // Whether a stream goes behind its equals after every packet
  virtual bool takes_turns() const = 0;

 private:
  using Index = TurnOrder::Index;
  static constexpr Index k_none = TurnOrder::k_none;

  struct Entry {
    StreamId stream{};
    std::uint64_t place = 0;
    bool active = false;
    Index next_unused = k_none;
  };
  Index find(StreamId stream) const;
  Index add(StreamId stream);

  std::vector<Entry> entries_;
  Index unused_ = k_none;
  FlatMap<Index> by_stream_;
  TurnOrder order_;
  TurnOrder::Set line_;
  std::uint64_t arrivals_ = 0;
};

}  // namespace sheaf::quic
