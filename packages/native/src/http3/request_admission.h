#pragma once

#include <deque>
#include <optional>

#include "http3/transport.h"

namespace sheaf::http3 {

// Decides which of the peer's streams are read, since each costs the application memory beyond its
// bytes. While the connection has no room for that, streams wait unread in the transport, in the
// order of their arrival, and flow control bounds the bytes that they bring. When the connection
// has used more than its share of memory, only a limited number of streams wait and further ones
// are rejected. The client may send these requests again, because nothing was done for them (RFC
// 9114 §4.1.1).
class RequestAdmission {
 public:
  enum class Place : std::uint8_t { kNew, kWaiting, kAdmitted, kLight };
  enum class Answer : std::uint8_t { kRead, kWait, kReject };
  // Cost of a request in bytes: half for JavaScript's objects, headers and streams, half for the
  // chunk that its response may always write (stream/send_budget.h).
  static constexpr std::uint64_t k_request_memory = 32 << 10;
  // Cost of a request that the engine serves to its end, such as a tunnel: JavaScript has objects
  // of it, but neither reads nor writes.
  static constexpr std::uint64_t k_light_memory = 8 << 10;
  // Requests that are admitted whatever the memory, so that there is always one whose end makes
  // room.
  static constexpr std::size_t k_least = 8;
  // Streams that may wait whatever the memory: RFC 9114 §6.1 asks for at least 100 concurrent ones.
  static constexpr std::size_t k_min_waiting = 100;

  explicit RequestAdmission(Transport& transport) : transport_(transport) {}

  // Decides about a stream. When it must wait, `next` returns it later.
  Answer admit(StreamId id, Place& place) {
    if (is_admitted(place) || id.initiator() == transport_.role()) return Answer::kRead;
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
  // The engine serves the request from now on. There may be room for another one.
  void lighten(Place& place) {
    if (place != Place::kAdmitted) return;
    place = Place::kLight;
    transport_.release(k_request_memory - k_light_memory);
  }
  // Must be called when the stream is closed.
  void leave(Place place) {
    if (!is_admitted(place)) return;
    --admitted_;
    transport_.release(place == Place::kLight ? k_light_memory : k_request_memory);
  }
  // Returns the first stream that waits, once there is room for it. The caller reads it at once.
  // The stream may be closed by then.
  std::optional<StreamId> next() {
    if (waiting_.empty() || !room()) return std::nullopt;
    turn_ = waiting_.front();
    waiting_.pop_front();
    return turn_;
  }
  std::size_t waiting() const { return waiting_.size(); }

 private:
  static bool is_admitted(Place place) {
    return place == Place::kAdmitted || place == Place::kLight;
  }
  bool may_wait() const { return waiting_.size() < k_min_waiting || transport_.has_room_to_wait(); }
  bool room() const { return admitted_ < k_least || transport_.has_room_to_hold(k_request_memory); }

  Transport& transport_;
  std::deque<StreamId> waiting_;
  std::optional<StreamId> turn_;
  std::size_t admitted_ = 0;
};

}  // namespace sheaf::http3
