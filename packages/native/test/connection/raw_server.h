#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "connection/connection.h"
#include "connection/connection_ids.h"
#include "crypto/one_rtt_keys.h"
#include "sim/known_secret.h"
#include "wire/frame_codec.h"
#include "wire/packet_header.h"

namespace sheaf::quic {

// A server that sends any frames to a client's Connection, from any address and without rules. The
// keys come from seeds, without a handshake.
class RawServer {
 public:
  struct Packet {
    AddressPair path;  // as the client sees it
    ConnectionId destination;
    PacketNumber number = 0;
    std::size_t size = 0;
    std::vector<std::uint8_t> payload;
    template <typename FrameStruct>
    std::vector<FrameStruct> all() const {
      std::vector<FrameStruct> out;
      Reader reader(payload);
      while (!reader.empty()) {
        const auto frame = decode_frame(reader, PacketType::kOneRtt);
        if (!frame) break;
        if (const auto* found = std::get_if<FrameStruct>(&*frame)) out.push_back(*found);
      }
      return out;
    }
  };

  explicit RawServer(const TransportParameters& parameters = generous(), std::uint64_t seed = 1)
      : random(seed), client(Role::kClient, {}, random, now), path(addresses(1)) {
    keys_.install_send_secret(known_secret(1));
    keys_.install_receive_secret(known_secret(2));
    keys_.confirm_handshake();
    seed_.send_secret = known_secret(2);
    seed_.receive_secret = known_secret(1);
    seed_.peer_parameters = parameters;
    seed_.local_id = to;
    seed_.remote_id = id(0);
    seed_.path = path;
    seed_.address_validated = true;
    client.routing().set_id_maker(std::make_shared<LocalIdMaker>(std::vector<std::uint8_t>(32, 9)));
  }

  static TransportParameters generous() {
    TransportParameters parameters;
    parameters.initial_max_data = 1 << 24;
    parameters.initial_max_stream_data_uni = 1 << 24;
    parameters.initial_max_streams_uni = 8;
    parameters.active_connection_id_limit = 4;
    return parameters;
  }
  static AddressPair addresses(std::uint8_t last) {
    AddressPair pair;
    pair.local.family = pair.remote.family = Address::Family::kIpv4;
    pair.local.ip = {10, 0, 0, 1};
    pair.local.port = 50'000;
    pair.remote.ip = {10, 1, 0, last};
    pair.remote.port = 443;
    return pair;
  }
  static ConnectionId id(std::uint8_t sequence) {
    return ConnectionId(std::vector<std::uint8_t>(8, static_cast<std::uint8_t>(0xa0 + sequence)));
  }

  void start_early() {
    EXPECT_TRUE(client.establishment().start_early(known_secret(3), seed_, now));
  }
  void establish() { EXPECT_TRUE(client.establishment().establish(seed_, now)); }
  void confirm() {
    establish();
    send({HandshakeDoneFrame{}}, path);
  }

  void send(const std::vector<Frame>& frames, const AddressPair& from) {
    std::vector<std::uint8_t> packet(1500);
    Writer writer(packet);
    writer.write_u8(k_fixed_bit | keys_.key_phase_bit(PathId{0}) | 3);
    writer.write_bytes(to.view());
    writer.write_u32(static_cast<std::uint32_t>(next_number_));
    SealJob job;
    job.packet = packet.data();
    job.header_length = 13;
    job.packet_number_length = 4;
    job.number = next_number_++;
    for (const Frame& frame : frames) encode(writer, frame);
    const std::size_t length = std::max(writer.size(), std::size_t{20});
    job.payload_length = static_cast<std::uint32_t>(length - job.header_length);
    EXPECT_TRUE(keys_.seal({&job, 1}));
    packet.resize(length + k_aead_tag_length);
    client.receive({packet, from}, now);
  }

  // Receives all 1-RTT packets that the client wants to send now, and counts its 0-RTT packets.
  std::vector<Packet> collect() {
    std::vector<Packet> out;
    std::vector<std::uint8_t> buffer(65536);
    for (;;) {
      TransmitBatch batch;
      batch.buffer = buffer;
      client.poll_transmit(batch, now);
      if (batch.size == 0) return out;
      for (std::size_t at = 0; at < batch.size; at += batch.segment_size) {
        const std::size_t size = std::min(batch.segment_size, batch.size - at);
        if (buffer[at] & k_long_header_bit) {
          ++early_packets;
        } else {
          out.push_back(open(MutableBytes(buffer).subspan(at, size), batch.path));
        }
      }
    }
  }
  // Lets `limit` of virtual time pass without a response to the client.
  std::vector<Packet> sleep(Duration limit) {
    std::vector<Packet> out;
    const Time end = now + limit;
    for (Time next = client.next_timeout(); next <= end; next = client.next_timeout()) {
      now = std::max(now, next);
      client.on_timeout(now);
      for (Packet& packet : collect()) out.push_back(std::move(packet));
    }
    now = end;
    return out;
  }
  // Packets of other nodes arrived before the client's own next ones.
  void receive_elsewhere(PacketNumber largest) { largest_ = largest; }
  void acknowledge(PacketNumber first, PacketNumber last) {
    send({AckFrame{.largest = last, .first_range = last - first}}, path);
  }

  Time now{std::chrono::seconds(1000)};
  ConnectionId to = ConnectionId(std::vector<std::uint8_t>(8, 0x55));
  SeededRandom random;
  Connection client;
  AddressPair path;  // of the handshake
  int early_packets = 0;

 private:
  Packet open(MutableBytes bytes, const AddressPair& from) {
    Packet packet{.path = from,
                  .destination = ConnectionId(bytes.subspan(1, 8)),
                  .size = bytes.size(),
                  .payload = {}};
    const OpenedPacket opened = keys_.open(bytes, 9, PathId{0}, largest_, now);
    if (opened.began_phase) keys_.keep_old_keys(PathId{0}, now, 1s);
    EXPECT_EQ(opened.outcome, OpenedPacket::Outcome::kOpened);
    largest_ = packet.number = opened.number;
    packet.payload.assign(opened.payload.begin(), opened.payload.end());
    return packet;
  }

  OneRttKeys keys_;
  ConnectionSeed seed_;
  PacketNumber next_number_ = 0;
  PacketNumber largest_ = k_no_packet_number;
};

}  // namespace sheaf::quic
