#pragma once

#include "stream/block_pool.h"
#include "stream/connection_limits.h"
#include "stream/stream_lanes.h"
#include "stream/stream_table.h"
#include "stream/write_room.h"

namespace sheaf::quic {

// The open streams of a connection: how each begins and ends, and how many there were.
class OpenStreams {
 public:
  OpenStreams(const StreamSetConfig& config, ConnectionLimits& limits, WriteRoom& room,
              StreamLanes& lanes, EventQueue& events, BlockPool& blocks)
      : initial_window_(config.initial_stream_window),
        max_window_(config.max_stream_window),
        limits_(limits),
        room_(room),
        lanes_(lanes),
        events_(events),
        blocks_(blocks) {}

  // Null when there is none.
  Stream* find(StreamId id) const { return table_.find(id); }
  template <typename Visit>
  void for_each(Visit&& visit) const {
    table_.for_each(std::forward<Visit>(visit));
  }
  // The id must be new.
  Stream& create(StreamId id, StreamLane& lane);
  // Queues kClosed when both parts are done.
  void close_if_finished(Stream& stream);
  void forget(Stream& stream);
  // To be called after a change of limits that may concern any stream.
  void refresh_sending();

  std::size_t size() const { return table_.size(); }
  std::size_t bidirectional() const { return bidirectional_; }
  std::uint64_t created() const { return created_; }  // ever
  // Bidirectional ones that the peer opened.
  std::uint64_t peer_closed() const { return peer_closed_; }
  // In bytes: the streams and the data that they received.
  std::size_t memory_bytes() const { return blocks_.memory_bytes() + table_.memory_bytes(); }
  // Frees what is kept for streams to come.
  void trim() { blocks_.trim(); }

 private:
  std::uint64_t initial_window_;
  std::uint64_t max_window_;
  ConnectionLimits& limits_;
  WriteRoom& room_;
  StreamLanes& lanes_;
  EventQueue& events_;
  BlockPool& blocks_;
  StreamTable table_;
  std::uint64_t created_ = 0;
  std::uint64_t peer_closed_ = 0;
  std::size_t bidirectional_ = 0;
};

}  // namespace sheaf::quic
