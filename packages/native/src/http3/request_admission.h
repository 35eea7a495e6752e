#pragma once

#include <deque>
#include <optional>

#include "http3/transport.h"

namespace sheaf::http3 {

// Decides which of the peer's streams are read. Each that is costs the application memory beside
// its bytes. While the connection has no room for that, streams wait in the transport, unread, in
// the order in which they came; flow control bounds the bytes that they bring meanwhile. When the
// connection has more than its share of memory, only so many streams wait, and more are rejected:
// nothing was done for them, so they may be sent again (RFC 9114 §4.1.1).
class RequestAdmission {
 public:
  enum class Place : std::uint8_t { kNew, kWaiting, kAdmitted };
  enum class Answer : std::uint8_t { kRead, kWait, kReject };
  // The cost of a request in bytes: half for JavaScript's objects, headers and streams, half for
  // the chunk that its response may always write (stream/send_budget.h).
  static constexpr std::uint64_t k_request_memory = 32 << 10;
  // Requests that a connection always has, so that there is one whose end makes room.
  static constexpr std::size_t k_least = 8;
  // Streams that may wait in any case: RFC 9114 §6.1 wants 100 at one time.
  static constexpr std::size_t k_min_waiting = 100;

  explicit RequestAdmission(Transport& transport) : transport_(transport) {}

  // Says whether the stream may be read now. `next` will name one that waits.
  Answer admit(StreamId id, Place& place) {
    if (place == Place::kAdmitted || id.initiator() == transport_.role()) return Answer::kRead;
    const bool turn = place == Place::kWaiting ? turn_ == id : waiting_.empty();
    if (!turn || !room()) {
      if (place == Place::kNew && !may_wait()) return Answer::kReject;
      if (place == Place::kNew) waiting_.push_back(id);
      place = Place::kWaiting;
      return Answer::kWait;
    }
    place = Place::kAdmitted;
    ++admitted_;
    transport_.hold(k_request_memory);
    return Answer::kRead;
  }
  // The stream is closed.
  void leave(Place place) {
    if (place != Place::kAdmitted) return;
    --admitted_;
    transport_.release(k_request_memory);
  }
  // The first of those that wait, once there is room for it. To be read at once; it may be closed.
  std::optional<StreamId> next() {
    if (waiting_.empty() || !room()) return std::nullopt;
    turn_ = waiting_.front();
    waiting_.pop_front();
    return turn_;
  }
  std::size_t waiting() const { return waiting_.size(); }

 private:
  bool may_wait() const { return waiting_.size() < k_min_waiting || transport_.has_room_to_wait(); }
  bool room() const { return admitted_ < k_least || transport_.has_room_to_hold(k_request_memory); }

  Transport& transport_;
  std::deque<StreamId> waiting_;
  std::optional<StreamId> turn_;
  std::size_t admitted_ = 0;
};

}  // namespace sheaf::http3
