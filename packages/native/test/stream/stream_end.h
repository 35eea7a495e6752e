#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "stream/pattern.h"
#include "stream/stream_set.h"
#include "wire/frame_codec.h"

namespace sheaf::quic {

inline constexpr auto k_bidirectional = Directionality::kBidirectional;
inline constexpr auto k_unidirectional = Directionality::kUnidirectional;

// Holds the frames of one packet, as bytes for the peer and as the sender's record.
struct StreamPacket {
  std::vector<std::uint8_t> bytes;
  std::vector<SentFrame> frames;

  bool empty() const { return frames.empty(); }
  std::vector<Frame> decoded() const {
    std::vector<Frame> result;
    Reader reader(bytes);
    while (!reader.empty()) {
      const auto frame = decode_frame(reader, PacketType::kOneRtt);
      EXPECT_TRUE(frame) << "undecodable frame";
      if (!frame) break;
      result.push_back(*frame);
    }
    return result;
  }
  template <typename FrameStruct>
  std::vector<FrameStruct> all() const {
    std::vector<FrameStruct> result;
    for (const Frame& frame : decoded()) {
      if (const auto* found = std::get_if<FrameStruct>(&frame)) result.push_back(*found);
    }
    return result;
  }
};

// Runs a StreamSet with just enough around it to send and receive packets.
class StreamEnd {
 public:
  explicit StreamEnd(Role role, const StreamSetConfig& config = {}) : streams(role, config) {}

  TransportParameters parameters() const {
    TransportParameters result;
    streams.fill_local_parameters(result);
    return result;
  }
  bool wants_to_send() const {
    return streams.outgoing().has_control_to_send() || streams.outgoing().has_data_to_send();
  }
  StreamPacket send(std::size_t size = 1200) {
    return fill(size, [&](Writer& writer) {
      if (streams.outgoing().has_control_to_send()) streams.outgoing().write_control(writer, sent_);
      if (streams.outgoing().has_data_to_send()) streams.outgoing().write_data(writer, sent_, {});
    });
  }
  // Sends frames of the streams pinned to the path.
  StreamPacket send_pinned(PathId path, std::size_t size = 1200) {
    return fill(size, [&](Writer& writer) {
      streams.outgoing().write_pinned(writer, sent_, {.path = path});
    });
  }
  TransportStatus receive(const StreamPacket& packet) {
    for (const Frame& frame : packet.decoded()) {
      TransportStatus status = std::visit([this](const auto& one) { return handle(one); }, frame);
      if (!status) return status;
    }
    return {};
  }
  void acknowledge(const StreamPacket& packet) {
    for (const SentFrame& frame : packet.frames) streams.outgoing().on_acknowledged(frame);
  }
  void lose(const StreamPacket& packet) {
    for (const SentFrame& frame : packet.frames) streams.outgoing().on_lost(frame);
  }
  // Sends until nothing is left. All packets are received and acknowledged.
  void flush_to(StreamEnd& peer) {
    while (wants_to_send()) {
      const StreamPacket packet = send();
      ASSERT_FALSE(packet.empty()) << "wants to send, but does not";
      const TransportStatus status = peer.receive(packet);
      ASSERT_TRUE(status) << status.error().reason;
      acknowledge(packet);
    }
  }

  std::vector<StreamEvent> events() {
    std::vector<StreamEvent> result;
    while (const auto event = streams.poll_event()) result.push_back(*event);
    return result;
  }
  // Reads each stream as it becomes readable, and returns the bytes.
  std::uint64_t read_all() {
    std::uint64_t bytes = 0;
    while (const auto event = streams.poll_event()) {
      if (event->kind == StreamEvent::Kind::kReadable) bytes += read(event->stream).bytes;
    }
    return bytes;
  }
  // Lists events as text that is easy to compare: "opened 0, readable 0, acknowledged 0 = 100".
  std::string event_text() {
    static constexpr const char* k_names[] = {"opened",       "readable", "writable",
                                              "stop_sending", "reset",    "acknowledged",
                                              "lost",         "closed",   "available"};
    std::string text;
    for (const StreamEvent& event : events()) {
      if (!text.empty()) text += ", ";
      text += k_names[static_cast<std::size_t>(event.kind)];
      text += ' ' + std::to_string(event.stream.value);
      if (event.value != 0) text += " = " + std::to_string(event.value);
    }
    return text;
  }

  bool write(StreamId id, std::size_t length, bool fin = false, std::uint64_t offset = 0) {
    const auto taken =
        streams.writer().write(id, SendChunk::copy_of(pattern(id.value, offset, length)), fin);
    EXPECT_TRUE(taken);
    return taken && *taken;
  }
  ReadResult read(StreamId id, std::size_t length = 64 << 10) {
    std::vector<std::uint8_t> bytes(length);
    const auto result = streams.reader().read(id, bytes, now);
    EXPECT_TRUE(result);
    return result ? *result : ReadResult{};
  }
  TransportStatus receive_stream(std::uint64_t id, std::uint64_t offset, std::size_t length,
                                 bool fin = false) {
    return streams.incoming().on_stream({{id}, offset, pattern(id, offset, length), fin}, now);
  }

  StreamSet streams;
  Time now{};

 private:
  template <typename Write>
  StreamPacket fill(std::size_t size, Write&& write) {
    StreamPacket packet;
    packet.bytes.resize(size);
    Writer writer(packet.bytes);
    write(writer);
    packet.bytes.resize(writer.size());
    packet.frames.assign(sent_.pending_frames().begin(), sent_.pending_frames().end());
    sent_.discard_pending();
    return packet;
  }
  TransportStatus handle(const StreamFrame& frame) {
    return streams.incoming().on_stream(frame, now);
  }
  TransportStatus handle(const ResetStreamFrame& frame) {
    return streams.incoming().on_reset_stream(frame);
  }
  TransportStatus handle(const StopSendingFrame& frame) {
    return streams.incoming().on_stop_sending(frame);
  }
  TransportStatus handle(const MaxDataFrame& frame) {
    return streams.incoming().on_max_data(frame);
  }
  TransportStatus handle(const MaxStreamDataFrame& frame) {
    return streams.incoming().on_max_stream_data(frame);
  }
  TransportStatus handle(const MaxStreamsFrame& frame) {
    return streams.incoming().on_max_streams(frame);
  }
  TransportStatus handle(const DataBlockedFrame& frame) {
    return streams.incoming().on_data_blocked(frame);
  }
  TransportStatus handle(const StreamDataBlockedFrame& frame) {
    return streams.incoming().on_stream_data_blocked(frame);
  }
  TransportStatus handle(const StreamsBlockedFrame& frame) {
    return streams.incoming().on_streams_blocked(frame);
  }
  template <typename Other>
  TransportStatus handle(const Other&) {
    ADD_FAILURE() << "not a frame of streams";
    return {};
  }

  SentPackets sent_;
};

// A client and a server that know each other's limits.
struct StreamPair {
  explicit StreamPair(const StreamSetConfig& client_config = {},
                      const StreamSetConfig& server_config = {})
      : client(Role::kClient, client_config), server(Role::kServer, server_config) {
    EXPECT_TRUE(client.streams.set_peer_parameters(server.parameters()));
    EXPECT_TRUE(server.streams.set_peer_parameters(client.parameters()));
    client.events();
    server.events();
  }
  StreamId open(Directionality directionality = Directionality::kBidirectional) {
    const auto id = client.streams.writer().open(directionality);
    EXPECT_TRUE(id);
    return *id;
  }
  // Sends in both directions until neither side has anything to send.
  void flush() {
    while (client.wants_to_send() || server.wants_to_send()) {
      client.flush_to(server);
      server.flush_to(client);
      if (testing::Test::HasFatalFailure()) return;
    }
  }

  StreamEnd client;
  StreamEnd server;
};

}  // namespace sheaf::quic
