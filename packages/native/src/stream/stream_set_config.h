#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "scheduler/stream/stream_scheduler.h"
#include "wire/types.h"

namespace sheaf::quic {

// Configures the streams of a connection. Receive windows grow from the initial value to the
// maximum while the application keeps up (flow_control/receive_window.h).
struct StreamSetConfig {
  std::uint64_t initial_connection_window = 1 << 20;
  std::uint64_t max_connection_window = 24 << 20;
  std::uint64_t initial_stream_window = 256 << 10;
  std::uint64_t max_stream_window = 8 << 20;
  std::uint64_t max_bidirectional_streams = 1000;  // streams of the peer open at the same time
  std::uint64_t max_unidirectional_streams = 1000;
  std::uint64_t send_buffer = 1 << 20;  // bytes of each stream that are accepted and not yet sent
  std::uint64_t memory = k_max_varint;  // bytes that all streams may hold (stream/send_budget.h)
  StreamSchedulerKind scheduler = StreamSchedulerKind::kExtensible;
};

enum class StreamRefusal : std::uint8_t {
  kUnknownStream,
  kWrongDirection,
  kStreamLimit,  // no stream may be opened until kStreamsAvailable
  kFinished,     // the stream was ended or reset before
  kElsewhere,    // the path to pin the stream to leads to a server that does not have it
};

struct ReadResult {
  std::size_t bytes = 0;
  bool finished = false;               // everything up to the end has been read
  std::optional<std::uint64_t> reset;  // the peer's error code
};

// The part of a connection's limits that a backend takes over (docs/internals/multi-end.md): bytes
// that it may send, and ids of streams that it may open.
struct StreamLease {
  struct Ids {
    std::uint64_t first = 0;  // an index
    std::uint64_t count = 0;
  };
  std::uint64_t credit = 0;
  std::array<Ids, 2> ids{};  // by Directionality
};

}  // namespace sheaf::quic
