#pragma once

#include <array>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "http3/control_stream_reader.h"
#include "http3/datagram_router.h"
#include "http3/message_framing.h"
#include "http3/request_session.h"
#include "http3/request_stream.h"
#include "http3/settings.h"
#include "util/random.h"
#include "util/ring.h"
#include "util/token_bucket.h"

namespace sheaf::http3 {

struct SessionConfig {
  std::uint64_t max_field_section_size = 64 << 10;  // bytes, as RFC 9114 §4.2.2 counts them
  std::uint64_t qpack_table_capacity = 4096;        // bytes
  std::uint64_t qpack_blocked_streams = 16;
  // Server: takes CONNECT with `:protocol` (RFC 9220). Whatever WebTransport says.
  bool extended_connect = false;
  bool datagrams = false;  // HTTP datagrams (RFC 9297)
  // Announces WebTransport, and with it extended CONNECT and datagrams.
  bool webtransport = false;
  std::size_t max_webtransport_sessions = 256;  // at a time; announced and enforced
  // A backend's: control and QPACK streams are the primary's, which exchanged SETTINGS with the
  // client. Requests are all there is here, and QPACK has no dynamic table
  // (docs/internals/multi-end.md).
  bool requests_only = false;
};

// One HTTP/3 connection (RFC 9114), either role. The transport and the random source outlive it.
//
// Bodies are pulled: bytes of DATA frames stay in the transport until the application consumes
// them. Streams of WebTransport sessions are recognised and handed over to the layer above.
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
  Bytes peek_body(StreamId stream) const override;
  void consume_body(StreamId stream, std::size_t bytes, Time now) override;
  std::size_t readable_body(StreamId stream) const override;
  std::size_t read_body(StreamId stream, quic::MutableBytes out, Time now) override;

  void stop_reading(StreamId stream, std::uint64_t error) override;
  void reset(StreamId stream, std::uint64_t error) override;
  void set_priority(StreamId stream, const StreamPriority& priority) override;
  void announce_shutdown() override;
  void shut_down() override;
  std::size_t open_requests() const override { return requests_.size(); }
  void close(ErrorCode code, std::string_view reason, Time now) override;

  // Nothing before SettingsReceived.
  const std::optional<Settings>& peer_settings() const { return peer_settings_; }
  // Client: asks for another priority of a request (PRIORITY_UPDATE, RFC 9218 §7.1).
  quic::Status<Refusal> request_priority(StreamId stream, const StreamPriority& priority);

  // --- HTTP datagrams (RFC 9297) ------------------------------------------------------------
  // Largest payload that fits now; 0 while the peer takes none.
  std::size_t max_datagram_payload(StreamId stream) const;
  // False when it is too large or the transport's queue is full. `identifier` comes back in
  // DatagramOutcome.
  bool send_datagram(StreamId stream, Bytes payload, std::uint64_t identifier);
  // The peer has said that it takes none: what is to reach it goes as DATAGRAM capsules (§3.5).
  bool peer_lacks_datagrams() const;
  // Says who takes the datagrams of a request that is open. Once a request has its response, those
  // that nobody has claimed cost it: H3_DATAGRAM_ERROR (§2).
  void claim_datagrams(StreamId request, DatagramConsumer& consumer);

  std::size_t max_webtransport_sessions() const { return config_.max_webtransport_sessions; }

  // --- for the layer that owns handed-over streams ------------------------------------------
  Transport& transport() { return transport_; }
  // Events of a stream that this side opened go to HandedOverStreamEvent from now on.
  void hand_over(StreamId stream) { handed_over_.insert(stream); }
  // Server: a request on this stream is being served or may still arrive.
  bool request_open_or_to_come(StreamId stream) const;

 private:
  // One of the peer's unidirectional streams (RFC 9114 §6.2).
  struct PeerStream {
    enum class Kind : std::uint8_t { kUnknown, kControl, kQpack, kWebTransport, kIgnored };
    Kind kind = Kind::kUnknown;
    VarintAccumulator type;
    VarintAccumulator session;  // WebTransport only
    RequestAdmission::Place place = RequestAdmission::Place::kNew;
  };

  // session.cc: life
  void open_critical_streams();
  void write_control_frame(std::uint64_t type, Bytes payload);
  void on_stream_event(const quic::StreamEvent& event);
  void on_opened(StreamId id);
  void on_reset(StreamId id, std::uint64_t error);
  void on_lost(StreamId id);
  void on_acknowledged(StreamId id, std::uint64_t offset);
  void on_stop_sending(StreamId id, std::uint64_t error);
  void on_stream_closed(StreamId id);
  void read_waiting();
  // The peer cancelled a request; false when it did that too often.
  bool count_cancellation(RequestStream& stream);
  void end_writing(StreamId id, RequestStream& stream);
  void fail(const ConnectionError& error);
  RequestStream* find(StreamId id);
  const RequestStream* find(StreamId id) const;
  // Ends both directions of a message; what was not sent or read is dropped.
  void abandon(StreamId id, RequestStream& stream, std::uint64_t error);

  // session_datagrams.cc
  bool takes_datagrams() const;
  void read_datagrams();
  void route_datagram(HttpDatagram datagram);

  // session_reading.cc: the peer's messages
  void read_stream(StreamId id);
  void read_request(StreamId id, RequestStream& stream);
  bool admitted(StreamId id, RequestStream& stream);
  std::size_t read_frame_header(StreamId id, RequestStream& stream, Bytes bytes);
  void begin_frame(StreamId id, RequestStream& stream);
  std::size_t read_frame_payload(StreamId id, RequestStream& stream, Bytes bytes);
  std::size_t read_data_frame(StreamId id, quic::MutableBytes out);
  void finish_reading(StreamId id, RequestStream& stream);
  bool feed(StreamId id, RequestStream& stream, Bytes bytes, bool fin);
  void after_framing_read();
  void discard(StreamId id);
  void on_field(StreamId stream, const Field& field) override;
  void on_fields_end(StreamId stream, bool trailers) override;
  void on_unblocked(StreamId stream, std::size_t bytes) override;
  void on_message_error(StreamId stream, std::uint64_t error) override;

  // session_peer_streams.cc: the peer's unidirectional streams
  void read_peer_stream(StreamId id, PeerStream& stream);
  void identify(StreamId id, PeerStream& stream);
  void read_control(StreamId id);
  void read_qpack(StreamId id);
  void read_webtransport_prefix(StreamId id, PeerStream& stream);
  void hand_over_incoming(StreamId id, StreamId session, bool finished);
  ConnectionStatus on_settings(const Settings& settings) override;
  void on_go_away(std::uint64_t id) override;
  ConnectionStatus on_priority_update(StreamId stream, Bytes value) override;

  // session_writing.cc: our messages
  quic::Status<Refusal> check(const FieldSection& fields) const;
  void write_pending();
  void write_output(const MessageFraming::Output& output);
  void write_part(StreamId id, SendChunk chunk, bool fin);
  void on_writable(StreamId id);
  std::size_t next_body(StreamId stream, std::span<Bytes> chunks, bool& end) override;

  Transport& transport_;
  SessionConfig config_;
  quic::Random& random_;
  MessageFraming framing_;
  ControlStreamReader control_reader_;
  Time now_{};  // of the latest call
  bool started_ = false;
  bool closed_ = false;
  quic::Ring<SessionEvent> events_;
  DatagramRouter datagrams_;

  RequestAdmission admission_;
  quic::TokenBucket cancellations_;
  std::vector<StreamId> own_streams_;  // control, QPACK encoder, QPACK decoder, as far as opened
  std::unordered_map<StreamId, RequestStream> requests_;
  std::unordered_map<StreamId, PeerStream> peer_streams_;
  std::unordered_set<StreamId> handed_over_;
  std::array<bool, 4> critical_seen_{};  // by stream type of the peer's
  std::optional<Settings> peer_settings_;

  std::uint64_t next_request_ = 0;                   // server: lowest id not yet begun
  std::uint64_t next_unopened_ = 0;                  // server: lowest id not yet opened
  std::uint64_t refused_from_ = quic::k_max_varint;  // server, after `shut_down`
  std::uint64_t control_written_ = 0;                // bytes on our control stream
  std::uint64_t announcement_end_ = 0;               // of the first GOAWAY there; 0: not sent
  bool peer_going_away_ = false;
  // PRIORITY_UPDATE may overtake its request (RFC 9218 §7).
  std::unordered_map<StreamId, StreamPriority> early_priorities_;

  // Findings of nghttp3's callbacks, for `after_framing_read`: they may not touch the transport,
  // whose bytes are being read.
  std::vector<StreamId> begun_requests_;
  std::vector<StreamId> broken_messages_;
  std::vector<StreamId> unblocked_;
  std::vector<std::uint8_t> scratch_;
};

}  // namespace sheaf::http3
