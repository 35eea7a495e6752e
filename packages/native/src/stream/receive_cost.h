#pragma once

#include <algorithm>
#include <cstdint>

#include "stream/block_pool.h"
#include "stream/send_budget.h"
#include "stream/stream.h"
#include "stream/stream_set_config.h"

namespace sheaf::quic {

// What it costs at most to let the peer open streams and send data. All sizes are in bytes of
// memory, unless they are of credit.
struct ReceiveCost {
  // Of places in tables and queues, of HTTP/3 too.
  static constexpr std::uint64_t k_places = 224;
  // Of an open stream with one byte of data, for which it needs a whole block.
  static constexpr std::uint64_t k_stream =
      sizeof(Stream) + Block::footprint(Block::k_small) + k_places;

  // Of data within the credit, whatever its gaps. It is most for streams whose first large block
  // has one byte: 32 KiB in small blocks and a large one, with their places, are 43 KB.
  static constexpr std::uint64_t of_credit(std::uint64_t credit) { return credit + credit / 3; }
  static constexpr std::uint64_t credit_for(std::uint64_t memory) { return memory / 4 * 3; }

  static constexpr std::uint64_t of_streams(const StreamSetConfig& config) {
    return (config.max_bidirectional_streams + config.max_unidirectional_streams) * k_stream;
  }
  // Returns the configuration with as many streams as this memory of a connection has place for.
  static constexpr StreamSetConfig within(StreamSetConfig config, std::uint64_t memory) {
    const std::uint64_t most = SendBudget(memory).for_streams() / k_stream;
    if (config.max_bidirectional_streams + config.max_unidirectional_streams <= most) return config;
    config.max_bidirectional_streams = std::min(config.max_bidirectional_streams, most / 2);
    config.max_unidirectional_streams = std::min(config.max_unidirectional_streams, most / 2);
    return config;
  }
};

}  // namespace sheaf::quic
