#pragma once

#include "connection/connection.h"
#include "http3/transport.h"
#include "multi_end/backends.h"

namespace sheaf::http3 {

// Presents a `Connection` as the transport of HTTP. The connection must outlive this object.
class ConnectionTransport final : public Transport {
 public:
  explicit ConnectionTransport(quic::Connection& connection) : connection_(connection) {}

  Role role() const override { return connection_.role(); }
  quic::Result<StreamId, quic::StreamRefusal> open_stream(Directionality direction) override {
    return connection_.streams().writer().open(direction);
  }
  quic::Result<bool, quic::StreamRefusal> write(StreamId stream, SendChunk chunk,
                                                bool fin) override {
    return connection_.streams().writer().write(stream, std::move(chunk), fin);
  }
  quic::Result<bool, quic::StreamRefusal> replace(StreamId stream, std::uint64_t offset,
                                                  SendChunk chunk, bool fin) override {
    return connection_.streams().writer().replace(stream, offset, std::move(chunk), fin);
  }
  quic::Result<quic::ReadResult, quic::StreamRefusal> read(StreamId stream, quic::MutableBytes out,
                                                           Time now) override {
    return connection_.streams().reader().read(stream, out, now);
  }
  std::uint64_t readable_bytes(StreamId stream) const override {
    return connection_.streams().reader().readable_bytes(stream);
  }
  Bytes peek(StreamId stream) const override { return connection_.streams().reader().peek(stream); }
  quic::Result<quic::ReadResult, quic::StreamRefusal> consume(StreamId stream, std::size_t bytes,
                                                              Time now) override {
    return connection_.streams().reader().consume(stream, bytes, now);
  }
  // For the following calls a stream that is gone is no error: the caller wants it gone.
  void reset_stream(StreamId stream, std::uint64_t error) override {
    static_cast<void>(connection_.streams().writer().reset(stream, error));
  }
  void keep_reliable(StreamId stream, std::uint64_t bytes) override {
    connection_.streams().writer().keep_reliable(stream, bytes);
  }
  void stop_sending(StreamId stream, std::uint64_t error) override {
    static_cast<void>(connection_.streams().reader().stop_sending(stream, error));
  }
  void set_priority(StreamId stream, const StreamPriority& priority) override {
    connection_.streams().writer().set_priority(stream, priority);
  }
  void set_expected_bytes(StreamId stream, std::uint64_t total) override {
    connection_.streams().writer().set_expected_bytes(stream, total);
  }
  std::uint64_t reserve(StreamId stream) override {
    return connection_.streams().writer().reserve(stream);
  }
  bool has_room_to_hold(std::uint64_t bytes) const override {
    return connection_.streams().memory().has_room_to_hold(bytes);
  }
  bool has_room_to_wait() const override {
    return connection_.streams().memory().has_room_to_wait();
  }
  void hold(std::uint64_t bytes) override { connection_.streams().memory().hold(bytes); }
  void release(std::uint64_t bytes) override { connection_.streams().memory().release(bytes); }
  bool received_early(StreamId stream) const override {
    return connection_.streams().received_early(stream);
  }
  bool multi_end() const override { return quic::multi_end_negotiated(connection_); }
  bool at_backend(StreamId stream) const override { return quic::at_backend(connection_, stream); }
  bool begun_elsewhere(StreamId stream) const override {
    return connection_.extension().streams().remote().contains(stream);
  }
  quic::Duration round_trip() const override { return connection_.routing().shortest_round_trip(); }
  bool peer_takes_datagrams() const override {
    return connection_.peer_parameters().max_datagram_frame_size > 0;
  }
  std::size_t max_datagram_payload() const override {
    return connection_.datagrams().maximum_payload();
  }
  bool send_datagram(Bytes payload, std::uint64_t identifier) override {
    return connection_.datagrams().send(payload, identifier);
  }
  void limit_waiting_datagrams(std::size_t bytes) override {
    connection_.datagrams().limit_waiting(bytes);
  }
  quic::ApplicationDatagrams::Conditions datagram_conditions() const override {
    return connection_.datagrams().conditions();
  }
  std::optional<quic::ReceivedDatagram> receive_datagram() override {
    return connection_.datagrams().receive();
  }
  void close(std::uint64_t application_error, std::string_view reason, Time now) override {
    connection_.close(application_error, reason, now);
  }

 private:
  quic::Connection& connection_;
};

}  // namespace sheaf::http3
