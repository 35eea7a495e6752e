#pragma once

#include "stream/block_pool.h"
#include "stream/connection_limits.h"
#include "stream/event_queue.h"
#include "stream/open_streams.h"
#include "stream/receive_progress.h"
#include "stream/stream_lanes.h"
#include "stream/stream_lookup.h"
#include "stream/write_room.h"

namespace sheaf::quic {

// Holds the parts that the roles of a StreamSet share. Each part depends only on those above it.
struct StreamParts {
  StreamParts(Role role, const StreamSetConfig& set_config)
      : config(set_config),
        limits(role, config, SendBudget(config.memory).max_receive_window(), events),
        room(config, limits.receive, blocks, events),
        lanes(config.scheduler, limits, room),
        open(config, limits, room, lanes, events, blocks),
        lookup(limits, open, lanes, events),
        progress(limits, open, lanes, events) {}
  StreamParts(const StreamParts&) = delete;
  StreamParts& operator=(const StreamParts&) = delete;

  const StreamSetConfig config;
  EventQueue events;
  ConnectionLimits limits;
  BlockPool blocks;
  WriteRoom room;
  StreamLanes lanes;
  OpenStreams open;
  StreamLookup lookup;
  ReceiveProgress progress;
};

}  // namespace sheaf::quic
