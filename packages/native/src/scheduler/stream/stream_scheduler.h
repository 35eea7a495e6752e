#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "wire/types.h"

namespace sheaf::quic {

// RFC 9218 §4. Later schedulers add a dependency tree.
struct StreamPriority {
  std::uint8_t urgency = 3;  // 0 first, 7 last
  bool incremental = false;
  auto operator<=>(const StreamPriority&) const = default;
};

// Which stream's data goes into the next packet. Knows streams only by id, so it is testable
// without a connection. Each call is O(log n) or better and allocates nothing in steady state.
class StreamScheduler {
 public:
  virtual ~StreamScheduler() = default;
  // The stream has data that flow control allows. Idempotent.
  virtual void activate(StreamId stream, const StreamPriority& priority) = 0;
  virtual void deactivate(StreamId stream) = 0;
  virtual std::optional<StreamId> next() const = 0;
  // `bytes` of the stream given by `next` were put into a packet.
  virtual void on_sent(StreamId stream, std::size_t bytes) = 0;
};

// RFC 9218 §10: by urgency; inside one, non-incremental streams in order of id, each to its end,
// then incremental ones in turn, a packet at a time.
std::unique_ptr<StreamScheduler> make_extensible_priority_scheduler();

}  // namespace sheaf::quic
