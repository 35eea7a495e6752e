#pragma once

#include "scheduler/stream/stream_scheduler.h"
#include "stream/receive_stream.h"
#include "stream/send_stream.h"
#include "stream/stream_list.h"

namespace sheaf::quic {

struct StreamLane;

// Holds one stream: its one or two parts (RFC 9000 §3.4), and the changes that the application, the
// scheduler and the peer have yet to learn.
struct Stream {
  // Frames other than STREAM that are due.
  enum ControlBit : std::uint8_t {
    k_reset_stream = 1,
    k_stop_sending = 2,
    k_max_stream_data = 4,
    k_stream_data_blocked = 8,
  };

  StreamId id;
  StreamLane* lane = nullptr;
  StreamPriority priority;
  std::uint64_t expected_bytes = 0;  // final length in bytes; 0 while it is unknown
  SendStream send;                   // meaningless unless `sends`
  ReceiveStream receive;             // meaningless unless `receives`
  StreamLink control_link;           // in its lane's queue
  StreamLink ahead_link;
  StreamLink credit_link;
  StreamLink room_link;
  std::uint64_t stop_sending_error = 0;
  std::uint64_t counted_unsent = 0;   // its share of StreamLane::unsent
  std::uint64_t counted_held = 0;     // its share of SendBudget::held, including `reserved`
  std::uint64_t counted_stalled = 0;  // its share of SendBudget::stalled
  std::uint64_t reserved = 0;         // bytes kept free for its next write
  std::size_t turns_taken = 0;        // turns that it passes, since a run took them in advance
  SendStream::Sendability sendability = SendStream::Sendability::kNothing;
  std::uint8_t control_due = 0;     // bits of ControlBit
  std::uint16_t events_queued = 0;  // bit per StreamEvent::Kind
  bool sends = false;
  bool receives = false;
  bool scheduled = false;      // known to the scheduler
  bool write_refused = false;  // the application waits for kWritable
  bool overfilled = false;     // its last write filled the buffer, so it is likely to have more
  bool lost = false;           // its backend is gone, so no frame about it is sent
  bool counted_open_ended = false;  // counted in StreamLane::open_ended

  // Assumed rest, in bytes, of a stream whose length is unknown. It keeps a stream that states its
  // length from being placed behind one that does not.
  static constexpr std::uint64_t k_no_end_in_sight = std::uint64_t{1} << 32;
  // Returns the bytes from the first unsent one to the end, as far as that is known.
  std::uint64_t remaining() const {
    const std::uint64_t unsent = send.unsent_bytes();
    if (!send.writable()) return unsent;
    const std::uint64_t sent = send.final_size();
    return expected_bytes > sent + unsent ? expected_bytes - sent : unsent + k_no_end_in_sight;
  }
};

}  // namespace sheaf::quic
