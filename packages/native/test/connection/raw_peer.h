#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <vector>

#include "connection/connection.h"
#include "connection/connection_ids.h"
#include "crypto/one_rtt_keys.h"
#include "multi_end/backends.h"
#include "sim/known_secret.h"
#include "wire/frame_codec.h"
#include "wire/packet_header.h"

namespace sheaf::quic {

// A client that sends any frames to a server's Connection, from any address and without rules. The
// keys come from seeds, without a handshake.
class RawPeer {
 public:
  struct Options {
    ConnectionConfig config{};
    bool validated = true;      // the server knows the first address to be the client's
    bool finished_came = true;  // the server has its receive secret and is confirmed
    bool multipath = false;     // offered by the client too
    std::optional<Duration> min_ack_delay{};  // announced by the client
    std::optional<Duration> first_min_ack_delay{};
    bool per_path_keys = false;  // with `multipath`: both sides offer Multi-End with these alone
  };
  // Holds a decrypted packet of the server.
  struct Packet {
    AddressPair path;  // as the server sees it
    ConnectionId destination;
    PathId path_id;
    PacketNumber number = 0;
    std::size_t size = 0;
    std::vector<std::uint8_t> payload;
    // Returns the frames of a type. Byte spans in them point into the payload.
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
    template <typename FrameStruct>
    std::optional<FrameStruct> find() const {
      const auto found = all<FrameStruct>();
      return found.empty() ? std::nullopt : std::optional(found.front());
    }
    template <typename FrameStruct>
    bool has() const {
      return find<FrameStruct>().has_value();
    }
  };

  RawPeer() : RawPeer(Options()) {}
  explicit RawPeer(const Options& options)
      : server(Role::kServer, with_keys(options), random, now), path(address(1)) {
    ConnectionSeed seed;
    seed.send_secret = known_secret(1);
    if (options.finished_came) seed.receive_secret = known_secret(2);
    seed.peer_parameters.initial_max_data = 1 << 24;
    seed.peer_parameters.initial_max_stream_data_uni = 1 << 24;
    seed.peer_parameters.initial_max_streams_uni = 8;
    seed.peer_parameters.active_connection_id_limit = 2;
    seed.peer_parameters.max_datagram_frame_size = 65535;
    seed.peer_parameters.min_ack_delay = options.min_ack_delay;
    seed.peer_parameters.first_min_ack_delay = options.first_min_ack_delay;
    if (options.multipath) seed.peer_parameters.initial_max_path_id = 7;
    if (options.per_path_keys) seed.peer_parameters.multi_end = BackendKeyModes::k_per_path;
    seed.local_id = to;
    seed.remote_id = id(0);
    seed.path = path;
    seed.address_validated = options.validated;
    server.routing().set_id_maker(std::make_shared<LocalIdMaker>(std::vector<std::uint8_t>(32, 9)));
    EXPECT_TRUE(server.establishment().establish(seed, now));
    if (options.finished_came && options.validated)
      server.establishment().confirm_handshake({}, now);
    keys_.set_mode(options.per_path_keys ? KeyMode::kPerPath : KeyMode::kShared);
    keys_.install_send_secret(known_secret(2));
    keys_.install_receive_secret(known_secret(1));
    keys_.confirm_handshake();
  }

  static ConnectionConfig with_keys(const Options& options) {
    ConnectionConfig config = options.config;
    if (options.per_path_keys) offer_multi_end(config, BackendKeyModes::k_per_path);
    return config;
  }
  static AddressPair address(std::uint8_t last) {
    AddressPair pair;
    pair.local.family = pair.remote.family = Address::Family::kIpv4;
    pair.local.ip = {10, 0, 0, 200};
    pair.local.port = 443;
    pair.remote.ip = {10, 0, 0, last};
    pair.remote.port = 5000;
    return pair;
  }
  static ConnectionId id(std::uint8_t sequence) {
    return ConnectionId(std::vector<std::uint8_t>(8, static_cast<std::uint8_t>(0xa0 + sequence)));
  }
  // Returns the id that the server is to use on a path other than the first.
  static ConnectionId id_on(PathId path) {
    std::vector<std::uint8_t> bytes(8);
    Writer writer(bytes);
    writer.write_u32(k_of_path);
    writer.write_u32(path.value);
    return ConnectionId(bytes);
  }
  static NewConnectionIdFrame given(std::uint8_t sequence) {
    return {
        .sequence = sequence, .retire_prior_to = 0, .id = id(sequence), .reset_token = {sequence}};
  }

  // Sends one packet to the server, padded to `size` when the frames are shorter; without a size,
  // to that of a small packet. Returns its size.
  std::size_t send(const std::vector<Frame>& frames, const AddressPair& from,
                   std::size_t size = 0) {
    return send_on({PathId{0}, to}, frames, from, size);
  }
  // Holds a path id, and one of the server's connection ids for that path.
  struct Target {
    PathId path;
    ConnectionId destination;
  };
  std::size_t send_on(const Target& target, const std::vector<Frame>& frames,
                      const AddressPair& from, std::size_t size = 0) {
    std::vector<std::uint8_t> packet(1500);
    Writer writer(packet);
    writer.write_u8(k_fixed_bit | keys_.key_phase_bit(target.path) | 3);
    writer.write_bytes(target.destination.view());
    const PacketNumber number = next_numbers_[target.path]++;
    writer.write_u32(static_cast<std::uint32_t>(number));
    SealJob job;
    job.packet = packet.data();
    job.header_length = 13;
    job.packet_number_length = 4;
    job.path = target.path;
    job.number = number;
    for (const Frame& frame : frames) encode(writer, frame);
    const std::size_t length =
        std::max(writer.size(), size > k_aead_tag_length ? size - k_aead_tag_length : 20);
    job.payload_length = static_cast<std::uint32_t>(length - job.header_length);
    EXPECT_TRUE(keys_.seal({&job, 1}));
    packet.resize(length + k_aead_tag_length);
    server.receive({packet, from, ecn}, now);
    return packet.size();
  }
  // Receives all packets that the server wants to send now.
  std::vector<Packet> collect() {
    std::vector<Packet> out;
    std::vector<std::uint8_t> buffer(65536);
    for (;;) {
      TransmitBatch batch;
      batch.buffer = buffer;
      server.poll_transmit(batch, now);
      if (batch.size == 0) return out;
      for (std::size_t at = 0; at < batch.size; at += batch.segment_size) {
        const std::size_t size = std::min(batch.segment_size, batch.size - at);
        out.push_back(open({buffer.data() + at, size}, batch.path));
      }
    }
  }
  // Lets `limit` of virtual time pass without a response to the server. Returns how often the
  // server woke.
  int sleep(Duration limit) {
    const Time end = now + limit;
    int wakes = 0;
    for (Time next = server.next_timeout(); next <= end && wakes < 10000; ++wakes) {
      now = std::max(now, next);
      server.on_timeout(now);
      for (const Packet& packet : collect()) sent_while_asleep[packet.path] += packet.size;
      next = server.next_timeout();
    }
    now = std::max(now, end);
    return wakes;
  }
  // Called when a packet arrived that another node sent in the server's name, on path 0.
  void on_other_packet(PacketNumber number) {
    PacketNumber& largest = largest_.try_emplace(PathId{0}, number).first->second;
    largest = std::max(largest, number);
  }
  // The next packets of the client on path 0 are lost.
  void lose(PacketNumber packets) { next_numbers_[PathId{0}] += packets; }
  // Drops the state of a path that is gone.
  void forget(PathId gone) {
    keys_.forget(gone);
    next_numbers_.erase(gone);
    largest_.erase(gone);
  }
  // The server wants to send more than it may.
  void make_server_talk(std::size_t bytes = 200'000) {
    const auto stream = server.streams().writer().open(Directionality::kUnidirectional);
    ASSERT_TRUE(stream);
    const std::vector<std::uint8_t> data(bytes, 7);
    ASSERT_TRUE(server.streams().writer().write(*stream, SendChunk::copy_of(data), true));
  }

  Time now{std::chrono::seconds(1000)};
  ConnectionId to = ConnectionId(std::vector<std::uint8_t>(8, 0x55));
  std::map<AddressPair, std::size_t> sent_while_asleep;
  std::function<void(const Packet&)> on_packet;  // each one of the server
  SeededRandom random{1};
  Connection server;
  AddressPair path;        // where the client is at first
  Ecn ecn = Ecn::kNotEct;  // of packets that it sends

 private:
  static constexpr std::uint32_t k_of_path = 0xb0000000;
  static PathId path_of(Bytes destination) {
    Reader reader(destination);
    return reader.read_u32() == k_of_path ? PathId{reader.read_u32()} : PathId{0};
  }

  Packet open(MutableBytes bytes, const AddressPair& from) {
    Packet packet{.path = from,
                  .destination = ConnectionId(bytes.subspan(1, 8)),
                  .path_id = path_of(bytes.subspan(1, 8)),
                  .number = 0,
                  .size = bytes.size(),
                  .payload = {}};
    const auto known = largest_.find(packet.path_id);
    const OpenedPacket opened =
        keys_.open(bytes, 9, packet.path_id,
                   known == largest_.end() ? k_no_packet_number : known->second, now);
    if (opened.began_phase) keys_.keep_old_keys(packet.path_id, now, 1s);
    EXPECT_EQ(opened.outcome, OpenedPacket::Outcome::kOpened);
    packet.number = opened.number;
    PacketNumber& largest = largest_.try_emplace(packet.path_id, packet.number).first->second;
    largest = std::max(largest, packet.number);
    packet.payload.assign(opened.payload.begin(), opened.payload.end());
    // RFC 9000 §19.16: a client may close when a packet retires the id that it was sent to, as
    // quiche does.
    for (const auto& retired : packet.all<RetireConnectionIdFrame>())
      EXPECT_NE(packet.destination, id(static_cast<std::uint8_t>(retired.sequence)));
    if (on_packet) on_packet(packet);
    return packet;
  }

  OneRttKeys keys_;
  std::map<PathId, PacketNumber> next_numbers_;
  std::map<PathId, PacketNumber> largest_;
};

}  // namespace sheaf::quic
