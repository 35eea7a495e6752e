#pragma once

#include <cstdint>

#include "stream/stream_set_config.h"
#include "util/result.h"

namespace sheaf::quic {

class OutgoingFrames;
struct StreamParts;

// Streams whose further bytes another node has and sends, while flow control, priorities and losses
// stay here (docs/decisions/0022-packet-numbers-in-runs.md). `OutgoingFrames::peek_remote` returns
// what such a node is to send next.
class RemoteStreams {
 public:
  RemoteStreams(StreamParts& parts, OutgoingFrames& outgoing)
      : parts_(parts), outgoing_(outgoing) {}

  // Leaves the rest of the stream to a sender, which has an index other than 0. Returns the offset
  // at which the rest begins. For a stream that has a sender already, the new one has all bytes of
  // the old one. A stream that is pinned to a path stays there.
  Result<std::uint64_t, StreamRefusal> assign(StreamId stream, std::uint8_t sender);
  // The sender has further bytes. `fin` says that they are the last.
  Status<StreamRefusal> append(StreamId stream, std::uint64_t bytes, bool fin);
  // Leaves a stream of which nothing was written to a sender that sends so many first bytes of its
  // own accord. They count as sent, and the others are withheld. Returns false where anything was
  // written, or flow control does not permit all.
  bool begin(StreamId stream, std::uint8_t sender, std::uint64_t bytes);
  // Nothing of a stream that was left so was sent, or ever will be. It is as before `begin`.
  void retract(StreamId stream);
  // The bytes of `begin` did end the stream.
  void end_begun(StreamId stream);
  // While remote bytes are withheld, they are not chosen. Bytes that are here go on, among them
  // those that `StreamWriter::replace` puts at the place of remote ones.
  void withhold(StreamId stream, bool withheld);

  // --- senders that decide themselves when to send (docs/internals/direct-return.md, mode Q)
  // ------ Their bytes are always withheld here.

  // Permits the sender to send up to `bytes` more than before, as far as flow control permits it
  // and everything before was sent. They count as sent. The sender need not be assigned yet.
  // Returns the offset up to which it may send.
  std::uint64_t permit(StreamId stream, std::uint64_t bytes);
  // Nothing from `offset` on was sent, although it was permitted, or ever will be.
  void take_back(StreamId stream, std::uint64_t offset);
  // The peer has all bytes from `begin` up to `end`.
  void acknowledge(StreamId stream, std::uint64_t begin, std::uint64_t end);
  // What was permitted from `begin` on, and not acknowledged, is due again.
  void lose(StreamId stream, std::uint64_t begin);
  // The first offset from which another node has bytes that the peer may lack, or the end of the
  // stream's bytes so far.
  std::uint64_t first_remote(StreamId stream) const;

  // The offset up to which the peer has everything, or had when the stream was reset; 0 for a
  // stream that has closed.
  std::uint64_t acknowledged(StreamId stream) const;
  // The offset up to which bytes were given to a packet, or to a sender.
  std::uint64_t numbered(StreamId stream) const;
  // The end of the bytes that are there, here or elsewhere.
  std::uint64_t written(StreamId stream) const;
  // Returns whether another node has bytes of the stream.
  bool contains(StreamId stream) const;
  // Returns whether the peer may still get bytes of the stream: it is there, and neither side has
  // reset it.
  bool wanted(StreamId stream) const;

 private:
  StreamParts& parts_;
  OutgoingFrames& outgoing_;
};

}  // namespace sheaf::quic
