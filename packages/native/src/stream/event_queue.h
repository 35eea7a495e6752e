#pragma once

#include "stream/stream.h"
#include "stream/stream_event.h"
#include "util/ring.h"

namespace sheaf::quic {

// Events in the order in which they first happened: at most one of each kind per stream, and none
// after kClosed.
class EventQueue {
 public:
  struct Entry {
    StreamEvent::Kind kind = StreamEvent::Kind::kOpened;
    Directionality directionality = Directionality::kBidirectional;  // kStreamsAvailable
    Stream* stream = nullptr;                                        // all other kinds
  };

  void push(Stream& stream, StreamEvent::Kind kind) {
    if (stream.events_queued & (bit(kind) | bit(StreamEvent::Kind::kClosed))) return;
    stream.events_queued |= bit(kind);
    queue_.push_back({.kind = kind, .stream = &stream});
  }
  void push_streams_available(Directionality directionality) {
    bool& queued = available_queued_[static_cast<std::size_t>(directionality)];
    if (queued) return;
    queued = true;
    queue_.push_back(
        {.kind = StreamEvent::Kind::kStreamsAvailable, .directionality = directionality});
  }
  bool empty() const { return queue_.empty(); }
  // Returns the oldest event. Its stream still exists: kClosed is the last event of a stream, and
  // the caller forgets the stream only after that.
  Entry pop() {
    const Entry entry = queue_.front();
    queue_.pop_front();
    if (entry.stream == nullptr) {
      available_queued_[static_cast<std::size_t>(entry.directionality)] = false;
    } else {
      entry.stream->events_queued &= static_cast<std::uint16_t>(~bit(entry.kind));
    }
    return entry;
  }

 private:
  static constexpr std::uint16_t bit(StreamEvent::Kind kind) {
    return static_cast<std::uint16_t>(1u << static_cast<unsigned>(kind));
  }

  Ring<Entry> queue_;
  bool available_queued_[2] = {false, false};
};

}  // namespace sheaf::quic
