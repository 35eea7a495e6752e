#pragma once

#include <array>
#include <deque>
#include <optional>

#include "stream/reassembler.h"
#include "util/time.h"
#include "wire/frame.h"

namespace sheaf::quic {

struct GroupEvent {
  enum class Kind : std::uint8_t {
    kReadable,  // more bytes in order
    kEnded,     // all bytes up to the end are consumed
    kReset,     // by the source
    kExpired,   // something is missing that does not come in time any more
  };
  StreamId group;
  Kind kind = Kind::kReadable;
  std::uint64_t error = 0;  // of a reset
};

// The streams of a channel at a receiver. Each is a group of objects. Their ids rise, and few are
// open at a time. Groups of which something is missing for longer than the deadline end. All memory
// is bounded, and nobody can slow the source down: the lowest groups make room for later ones.
class GroupStreams {
 public:
  static constexpr std::size_t k_max_open = 64;
  static constexpr std::uint64_t k_max_group = 32 << 20;  // bytes of one group
  static constexpr std::size_t k_max_memory = 64 << 20;   // bytes of all groups that are not read

  enum class Outcome : std::uint8_t {
    kTaken,
    kLate,       // the group has ended, or was never begun
    kLimit,      // too much is stored
    kViolation,  // no stream of a source, a group that is too long, or that ends twice
  };

  explicit GroupStreams(Duration deadline) : deadline_(deadline) {}

  Outcome on_stream(const StreamFrame& frame, Time now);
  Outcome on_reset(const ResetStreamFrame& frame, Time now);
  // Packets never came, and nobody knows of which groups. Groups that are not complete have to go
  // on within the deadline.
  void on_packets_expired(Time now);
  void on_timeout(Time now);
  Time next_timeout() const;

  // Returns what changed, one event for each group and change.
  std::optional<GroupEvent> poll_event();
  // Returns bytes in order, which stay until they are consumed. Empty: there are none now.
  Bytes peek(StreamId group) const;
  void consume(StreamId group, std::size_t bytes);
  std::size_t memory_bytes() const { return pool_.memory_bytes(); }

 private:
  struct Group {
    enum class State : std::uint8_t { kUnseen, kOpen, kFailed, kEnded };
    State state = State::kUnseen;
    bool changed = false;  // an event waits
    bool reset = false;    // what ended a failed one
    std::uint64_t error = 0;
    std::uint64_t end = k_max_varint;  // length, once it is known
    std::uint64_t highest = 0;         // one above the highest byte that arrived
    Time waiting = k_never;            // since when something is missing
    Reassembler bytes;

    bool complete() const { return bytes.contiguous_end() == end; }
    bool waits() const {
      return state == State::kUnseen || (state == State::kOpen && bytes.contiguous_end() < highest);
    }
  };

  // Groups below the first that was seen which may still come, as their packets were lost
  static constexpr std::uint64_t k_before_first = 16;

  // Returns the group of a frame, or why it is not taken.
  Outcome find(StreamId stream, Time now, Group*& found);
  Group& slot(std::uint64_t index) { return groups_[index % k_max_open]; }
  const Group* open_group(StreamId stream) const;
  void fail(Group& group);
  void drop_ended();
  void reset(Group& group);
  // Gives up the lowest groups, so that there is a place for this one.
  void make_place(std::uint64_t index);
  // Gives up groups below this one, until their bytes have room.
  void make_room(std::uint64_t index);

  Duration deadline_;
  BlockPool pool_;
  std::array<Group, k_max_open> groups_;
  std::deque<std::uint64_t> given_up_;  // whose event waits
  std::optional<std::uint64_t> first_;  // index of the lowest group that has not ended
  std::uint64_t end_ = 0;               // one above the highest index that was seen
  std::uint64_t begin_ = 0;             // index that was seen first
};

}  // namespace sheaf::quic
