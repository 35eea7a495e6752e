#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "connection/application_datagrams.h"
#include "stream/send_chunk.h"
#include "stream/stream_set_config.h"
#include "util/result.h"
#include "util/time.h"

namespace sheaf::http3 {

using quic::Bytes;
using quic::Directionality;
using quic::Role;
using quic::SendChunk;
using quic::StreamId;
using quic::StreamPriority;
using quic::Time;

// Lists the calls that HTTP makes to a QUIC connection: streams, datagrams and closing.
// `ConnectionTransport` implements them with a `Connection`; connection/connection.h documents each
// call.
class Transport {
 public:
  virtual ~Transport() = default;
  virtual Role role() const = 0;

  virtual quic::Result<StreamId, quic::StreamRefusal> open_stream(Directionality direction) = 0;
  virtual quic::Result<bool, quic::StreamRefusal> write(StreamId stream, SendChunk chunk,
                                                        bool fin) = 0;
  virtual quic::Result<bool, quic::StreamRefusal> replace(StreamId stream, std::uint64_t offset,
                                                          SendChunk chunk, bool fin) = 0;
  virtual quic::Result<quic::ReadResult, quic::StreamRefusal> read(StreamId stream,
                                                                   quic::MutableBytes out,
                                                                   Time now) = 0;
  virtual std::uint64_t readable_bytes(StreamId stream) const = 0;
  virtual Bytes peek(StreamId stream) const = 0;
  virtual quic::Result<quic::ReadResult, quic::StreamRefusal> consume(StreamId stream,
                                                                      std::size_t bytes,
                                                                      Time now) = 0;
  virtual void reset_stream(StreamId stream, std::uint64_t error) = 0;
  virtual void keep_reliable(StreamId stream, std::uint64_t bytes) = 0;
  virtual void stop_sending(StreamId stream, std::uint64_t error) = 0;
  virtual void set_priority(StreamId stream, const StreamPriority& priority) = 0;
  virtual void set_expected_bytes(StreamId stream, std::uint64_t total) = 0;
  // --- memory (stream/stream_set.h) ---------------------------------------------------------
  virtual std::uint64_t reserve(StreamId stream) = 0;
  virtual bool has_room_to_hold(std::uint64_t bytes) const = 0;
  virtual bool has_room_to_wait() const = 0;
  virtual void hold(std::uint64_t bytes) = 0;
  virtual void release(std::uint64_t bytes) = 0;

  virtual bool received_early(StreamId stream) const = 0;
  // The following two tell whether backends answer part of the requests, and whether this stream is
  // answered by one (docs/internals/multi-end.md).
  virtual bool multi_end() const { return false; }
  virtual bool at_backend(StreamId) const { return false; }
  // Another node may have sent the first bytes of this side.
  virtual bool begun_elsewhere(StreamId) const { return false; }

  // The smoothed round trip of the fastest path
  virtual quic::Duration round_trip() const = 0;
  virtual bool peer_takes_datagrams() const = 0;
  virtual std::size_t max_datagram_payload() const = 0;
  virtual bool send_datagram(Bytes payload, std::uint64_t identifier) = 0;
  virtual void limit_waiting_datagrams(std::size_t bytes) = 0;
  virtual quic::ApplicationDatagrams::Conditions datagram_conditions() const = 0;
  virtual std::optional<quic::ReceivedDatagram> receive_datagram() = 0;

  virtual void close(std::uint64_t application_error, std::string_view reason, Time now) = 0;
};

}  // namespace sheaf::http3
