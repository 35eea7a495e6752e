#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "scheduler/stream/stream_scheduler.h"

namespace sheaf::quic {

using Ids = std::vector<std::uint64_t>;

// Returns the order in which `packets` packets are given to streams that always have data.
inline Ids serve(StreamScheduler& scheduler, int packets, const SendOpportunity& opportunity = {}) {
  Ids streams;
  for (int i = 0; i < packets; ++i) {
    const auto next = scheduler.next(opportunity);
    if (!next) break;
    streams.push_back(next->value);
    scheduler.on_sent(*next, {.bytes = 1200, .remaining = 1'000'000}, opportunity);
  }
  return streams;
}

// Returns the name of a kind, as GoogleTest allows it.
inline std::string test_name(StreamSchedulerKind kind) {
  const auto named = std::ranges::find(k_all_stream_schedulers, kind, &NamedStreamScheduler::kind);
  std::string name(named->name);
  std::ranges::replace(name, '-', '_');
  return name;
}

// Makes a stream whose node in the tree has the stream's number.
inline void depend(StreamScheduler& scheduler, std::uint64_t stream, std::uint64_t parent,
                   std::uint16_t weight, bool exclusive = false) {
  scheduler.set_priority(
      {stream},
      {.dependency = {.node = stream, .parent = parent, .weight = weight, .exclusive = exclusive}});
}

}  // namespace sheaf::quic
