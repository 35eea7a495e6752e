#pragma once

#include <optional>

#include "http3/control_stream_reader.h"
#include "http3/own_streams.h"
#include "http3/peer_streams.h"
#include "http3/request_datagrams.h"
#include "http3/request_reader.h"
#include "http3/request_session.h"
#include "http3/request_writer.h"
#include "http3/session_parts.h"
#include "util/random.h"

namespace sheaf::http3 {

// Implements one HTTP/3 connection (RFC 9114) in either role. The transport and the random source
// must outlive it.
//
// The application pulls bodies: bytes of DATA frames stay in the transport until they are consumed.
// Streams of WebTransport sessions are recognised and handed over to the layer above.
class Session final : public RequestSession,
                      private MessageFraming::Listener,
                      private ControlStreamReader::Listener {
 public:
  Session(Transport& transport, const SessionConfig& config, quic::Random& random);

  void start(Time now) override;
  void on_event(const quic::Event& event, Time now) override;
  std::optional<SessionEvent> poll_event() override;

  quic::Result<StreamId, Refusal> submit_request(const FieldSection& fields,
                                                 bool has_body) override;
  quic::Status<Refusal> submit_informational(StreamId stream, const FieldSection& fields) override;
  quic::Status<Refusal> submit_response(StreamId stream, const FieldSection& fields,
                                        bool has_body) override;
  quic::Result<bool, Refusal> write_body(StreamId stream, SendChunk chunk, bool fin) override;
  std::size_t reserve_body(StreamId stream) override;
  quic::Status<Refusal> submit_trailers(StreamId stream, const FieldSection& fields) override;
  // Server: sends a response whose body another node sends (stream/remote_streams.h). `head` comes
  // from `encode_head`. With a length in bytes, the body is one DATA frame, and the response ends
  // here if the length is 0. `framed_size` tells how far the body's first byte is behind what was
  // written before. The other node may have begun with so many bytes, the head among them; a
  // response of known length is padded to these (`padded_size`).
  quic::Status<Refusal> hand_off(StreamId stream, Bytes head,
                                 std::optional<std::uint64_t> body_length, std::uint64_t begun = 0);
  // Sends part of such a body from here, at an offset in the stream: bytes that the other node has
  // not delivered, or that follow all of its bytes. As `write_body` otherwise.
  quic::Result<bool, Refusal> write_instead(StreamId stream, std::uint64_t offset, SendChunk chunk,
                                            bool fin);
  Bytes peek_body(StreamId stream) const override;
  void consume_body(StreamId stream, std::size_t bytes, Time now) override;
  std::size_t readable_body(StreamId stream) const override;
  std::size_t read_body(StreamId stream, quic::MutableBytes out, Time now) override;

  void stop_reading(StreamId stream, std::uint64_t error) override;
  void reset(StreamId stream, std::uint64_t error) override;
  void set_priority(StreamId stream, const StreamPriority& priority) override;
  void announce_shutdown() override;
  void shut_down() override;
  std::size_t open_requests() const override { return parts_.requests.size(); }
  void close(ErrorCode code, std::string_view reason, Time now) override;

  // Returns nothing before SettingsReceived.
  const std::optional<Settings>& peer_settings() const { return parts_.peer_settings; }
  // Client: asks for another priority of a request (PRIORITY_UPDATE, RFC 9218 §7.1).
  quic::Status<Refusal> request_priority(StreamId stream, const StreamPriority& priority);

  // Server: bounds the requests that the peer cancels no longer. To be called for a peer that
  // stands for many clients, and bounds what each of them cancels.
  void permit_cancellations() { parts_.cancellations_bounded = false; }

  // HTTP datagrams (RFC 9297)
  RequestDatagrams& datagrams() { return datagrams_; }

  std::size_t max_webtransport_sessions() const { return parts_.config.max_webtransport_sessions; }

  // --- for the layer that owns handed-over streams ------------------------------------------
  Transport& transport() { return parts_.transport; }
  // From now on, events of a stream that this side opened become HandedOverStreamEvents.
  void hand_over(StreamId stream) { parts_.handed_over.insert(stream); }
  // Server: returns whether a request on this stream is being served or may still arrive.
  bool request_open_or_to_come(StreamId stream) const {
    return parts_.request_open_or_to_come(stream);
  }

 private:
  void on_stream_event(const quic::StreamEvent& event);
  void on_handed_over(const quic::StreamEvent& event);
  void on_opened(StreamId id);
  void on_reset(StreamId id, std::uint64_t error);
  void on_lost(StreamId id);
  void on_stop_sending(StreamId id, std::uint64_t error);
  void on_stream_closed(StreamId id);
  void read_stream(StreamId id);
  void read_waiting();

  // MessageFraming::Listener
  void on_field(StreamId stream, const Field& field) override { reader_.on_field(stream, field); }
  void on_fields_end(StreamId stream, bool trailers) override {
    reader_.on_fields_end(stream, trailers);
  }
  void on_unblocked(StreamId stream, std::size_t bytes) override {
    reader_.on_unblocked(stream, bytes);
  }
  void on_message_error(StreamId stream, std::uint64_t error) override {
    reader_.on_message_error(stream, error);
  }
  std::size_t next_body(StreamId stream, std::span<Bytes> chunks, bool& end) override {
    return writer_.next_body(stream, chunks, end);
  }

  // ControlStreamReader::Listener
  ConnectionStatus on_settings(const Settings& settings) override;
  void on_go_away(std::uint64_t id) override;
  ConnectionStatus on_priority_update(StreamId stream, Bytes value) override;

  SessionParts parts_;
  RequestReader reader_;
  RequestWriter writer_;
  PeerStreams peer_streams_;
  OwnStreams own_streams_;
  RequestDatagrams datagrams_;
};

}  // namespace sheaf::http3
