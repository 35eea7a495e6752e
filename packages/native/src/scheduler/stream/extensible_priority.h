#pragma once

#include <array>
#include <vector>

#include "scheduler/stream/stream_scheduler.h"
#include "util/flat_map.h"

namespace sheaf::quic {

// The scheduler of RFC 9218 §10. Non-incremental streams of an urgency form a heap by id.
// Incremental ones form a circle, whose head moves on with every packet.
class ExtensiblePriorityScheduler final : public StreamScheduler {
 public:
  void set_priority(StreamId stream, const StreamPriority& priority) override;
  void forget(StreamId stream) override;
  void activate(StreamId stream, std::uint64_t remaining) override;
  void deactivate(StreamId stream) override;
  std::optional<StreamId> next(const SendOpportunity& opportunity) override;
  void on_sent(StreamId stream, const SentData& sent, const SendOpportunity& opportunity) override;

 private:
  using Index = std::uint32_t;  // in entries_
  static constexpr Index k_none = UINT32_MAX;
  static constexpr std::size_t k_urgencies = 8;

  struct Entry {
    StreamId stream;
    std::uint8_t urgency = StreamPriority{}.urgency;
    bool incremental = StreamPriority{}.incremental;
    bool active = false;
    Index heap_position = k_none;  // non-incremental
    Index previous = k_none;       // incremental: neighbors in the circle
    Index next = k_none;           // of an unused entry: the next unused one
  };
  struct Urgency {
    std::vector<Index> heap;
    Index circle = k_none;
    bool empty() const { return heap.empty() && circle == k_none; }
  };

  // Returns the entry of the stream, and creates it if needed.
  Index entry_of(StreamId stream);
  void link(Index index);
  void unlink(Index index);
  void circle_insert(Urgency& urgency, Index index);
  void circle_remove(Urgency& urgency, Index index);
  void heap_remove(Urgency& urgency, Index index);
  void sift_up(Urgency& urgency, Index position);
  void sift_down(Urgency& urgency, Index position);
  void heap_place(Urgency& urgency, Index position, Index index);

  std::array<Urgency, k_urgencies> urgencies_;
  std::uint32_t occupied_ = 0;  // bit u: urgencies_[u] is not empty
  std::vector<Entry> entries_;
  Index unused_ = k_none;
  FlatMap<Index> index_of_;
};

}  // namespace sheaf::quic
