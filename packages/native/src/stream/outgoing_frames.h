#pragma once

#include "recovery/sent_packets.h"
#include "scheduler/stream/stream_scheduler.h"
#include "stream/send_stream.h"

namespace sheaf::quic {

struct Stream;
struct StreamLane;
struct StreamParts;

// The next data to send, which another node has.
struct RemoteTurn {
  Stream* stream = nullptr;
  StreamId id;
  std::uint8_t sender = 0;
  SendStream::Segment segment;
  bool ends = false;  // the stream ends with the segment
};

// Fills packets with the frames of streams, and learns the fate of those frames. Records each frame
// with `sent.add_frame`.
class OutgoingFrames {
 public:
  explicit OutgoingFrames(StreamParts& parts) : parts_(parts) {}

  // --- streams that any path may carry -------------------------------------------------------
  bool has_control_to_send() const;  // flow control, resets, stop sending
  bool has_data_to_send() const;     // STREAM frames that flow control allows
  void write_control(Writer& writer, SentPackets& sent);
  // Fills the packet with STREAM frames in the scheduler's order. The last frame has no length
  // field when it reaches the end of the writer. Stops where remote data is next. Returns the
  // number of payload bytes written.
  std::size_t write_data(Writer& writer, SentPackets& sent, const SendOpportunity& opportunity);
  // Returns the data that is next in the scheduler's order if it is remote.
  std::optional<RemoteTurn> peek_remote(const SendOpportunity& opportunity);
  // Notes that the first `bytes` of the turn were given to its sender. The caller records their
  // frames. No other call may come between `peek_remote` and this one.
  void take_remote(const RemoteTurn& turn, std::uint64_t bytes);
  // Ends the turn of a stream, in which it had this many packets: others are next.
  void end_turn(StreamId id, std::size_t packets, const SendOpportunity& opportunity);
  // Returns the number of bytes written by the application but not yet in a packet.
  std::uint64_t unsent_bytes() const;
  // Returns whether the application filled the buffer of such a stream and has not ended it: more
  // than `unsent_bytes` is to come.
  bool open_ended() const;
  // Returns the number of bytes that the peer's MAX_DATA still allows.
  std::uint64_t connection_credit() const;

  // --- streams pinned to one path ------------------------------------------------------------
  bool has_pinned_to_send(PathId path) const;
  // Writes control frames and data of the streams pinned to the opportunity's path. Returns the
  // number of payload bytes written.
  std::size_t write_pinned(Writer& writer, SentPackets& sent, const SendOpportunity& opportunity);

  // --- frames that were sent -----------------------------------------------------------------
  // Sends the unacknowledged data of a STREAM frame again, on another path. `rest` becomes the part
  // that did not fit. Returns true when nothing is left of it.
  bool write_copy(SentFrame& rest, Writer& writer, SentPackets& sent);
  // Take all SentFrame kinds that are about streams.
  void on_acknowledged(const SentFrame& frame);
  void on_lost(const SentFrame& frame);

 private:
  void write_lane_control(StreamLane& lane, Writer& writer, SentPackets& sent);
  bool write_stream_control(Stream& stream, Writer& writer, SentPackets& sent);
  std::size_t write_lane_data(StreamLane& lane, Writer& writer, SentPackets& sent,
                              const SendOpportunity& opportunity);
  // Returns the stream whose data leaves next; null when there is none.
  Stream* next_to_send(StreamLane& lane, const SendOpportunity& opportunity);
  Stream* chosen_of(StreamLane& lane, const SendOpportunity& opportunity);
  Stream* next_with_turn(Stream& first, StreamLane& lane, const SendOpportunity& opportunity);
  // Writes as much of the segment as there is room for, and sets its length to that. Returns false
  // when there is no room.
  bool write_stream_frame(Stream& stream, SendStream::Segment& segment, Writer& writer,
                          SentPackets& sent);
  bool write_segment(Stream& stream, SendStream::Segment& segment, Writer& writer,
                     SentPackets& sent);
  // Keeps account of new or repeated data that has its packet.
  void on_numbered(Stream& stream, const SendStream::Segment& segment);
  void on_stream_frame_lost(Stream& stream, const SentFrame& frame);

  StreamParts& parts_;
};

}  // namespace sheaf::quic
