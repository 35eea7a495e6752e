#pragma once

#include <deque>
#include <unordered_map>

#include "http3/request_admission.h"
#include "http3/request_session.h"

namespace sheaf::http3 {

// Speaks hq-interop, which is HTTP/0.9 over QUIC, for interoperability runs. The client sends `GET
// /path` and a line end on a bidirectional stream; the server sends the bare body back.
//
// To fit the common interface, this class makes up what HTTP/0.9 lacks. A request has `:method` GET
// and `:path`. A response always has status 200. Submitting a response with an error status resets
// the stream, since the protocol has no other way to report an error.
class HqSession final : public RequestSession {
 public:
  explicit HqSession(Transport& transport) : transport_(transport), admission_(transport) {}

  void start(Time) override {}
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
  // HTTP/0.9 has no GOAWAY, so there is no round trip to wait for before refusing requests.
  void announce_shutdown() override { shut_down(); }
  void shut_down() override { refusing_ = true; }
  std::size_t open_requests() const override { return exchanges_.size(); }
  void close(ErrorCode code, std::string_view reason, Time now) override;

 private:
  struct Exchange {
    RequestAdmission::Place place = RequestAdmission::Place::kNew;
    std::string line;    // server: the part of the request that has arrived
    bool begun = false;  // the message of the peer has been reported
    bool reading_done = false;
    bool responding = false;
    bool readable_announced = false;
    bool full = false;
  };
  void on_stream_event(const quic::StreamEvent& event, Time now);
  void read(StreamId id, Exchange& exchange, Time now);
  void read_request(StreamId id, Exchange& exchange, Time now);
  void finish(StreamId id, Exchange& exchange);
  Exchange* find(StreamId id);

  void read_waiting(Time now);

  Transport& transport_;
  RequestAdmission admission_;
  std::unordered_map<StreamId, Exchange> exchanges_;
  std::deque<SessionEvent> events_;
  bool closed_ = false;
  bool refusing_ = false;
};

}  // namespace sheaf::http3
