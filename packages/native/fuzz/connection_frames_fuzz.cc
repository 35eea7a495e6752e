#include <cstdlib>
#include <vector>

#include "connection/connection.h"
#include "crypto/one_rtt_keys.h"
#include "multi_end/backends.h"
#include "sim/known_secret.h"
#include "wire/packet_header.h"

// Feeds authenticated packets with any payload, on any path, to a connection that speaks multipath.
// Checks that it responds or fails with an error, and never crashes. The first byte chooses whether
// the connection is a client and whether it speaks Multi-End. Each packet is a byte for the path,
// one for the number of payload bytes, and the payload.
namespace {

using namespace sheaf::quic;

AddressPair address(std::uint8_t last) {
  AddressPair pair;
  pair.local.family = pair.remote.family = Address::Family::kIpv4;
  pair.local.ip = {10, 0, 0, 200};
  pair.remote.ip = {10, 0, 0, last};
  return pair;
}

// Holds a connection whose peer sends what the fuzzer chooses.
class Victim {
 public:
  explicit Victim(std::uint8_t kind)
      : backends_((kind & 2) != 0),
        connection_(kind & 1 ? Role::kClient : Role::kServer, config(backends_), random_, now_) {
    ConnectionSeed seed;
    seed.send_secret = known_secret(1);
    seed.receive_secret = known_secret(2);
    seed.peer_parameters.initial_max_data = 1 << 20;
    seed.peer_parameters.initial_max_path_id = 3;
    seed.peer_parameters.active_connection_id_limit = 2;
    if (backends_) seed.peer_parameters.multi_end = BackendKeyModes::k_shared;
    seed.local_id = ConnectionId(std::vector<std::uint8_t>(8, 0x55));
    seed.remote_id = ConnectionId(std::vector<std::uint8_t>(8, 0xaa));
    seed.path = address(1);
    connection_.routing().set_id_maker(
        std::make_shared<LocalIdMaker>(std::vector<std::uint8_t>(32, 9)));
    ids_.push_back(seed.local_id);
    keys_.install_send_secret(known_secret(2));
    if (!connection_.establishment().establish(seed, now_)) std::abort();
    if (kind & 1) {
      // Confirms the handshake, and opens paths.
      receive(0, std::vector<std::uint8_t>{static_cast<std::uint8_t>(FrameType::kHandshakeDone)});
    } else {
      connection_.establishment().confirm_handshake({}, now_);
    }
    settle();
  }

  void receive(std::uint8_t which, Bytes payload) {
    // The connection issued ids for path 0 first, and then two for each of the other paths.
    const std::size_t index = which % ids_.size();
    std::vector<std::uint8_t> packet(600);
    Writer writer(packet);
    writer.write_u8(k_fixed_bit | 3);
    writer.write_bytes(ids_[index].view());
    writer.write_u32(static_cast<std::uint32_t>(number_));
    writer.write_bytes(payload);
    const std::size_t padded = std::max<std::size_t>(payload.size(), 4);
    SealJob job;
    job.packet = packet.data();
    job.header_length = 13;
    job.packet_number_length = 4;
    job.payload_length = static_cast<std::uint32_t>(padded);
    job.number = number_++;
    job.path = PathId{static_cast<std::uint32_t>(which >> 4 & 3)};
    if (!keys_.seal({&job, 1})) std::abort();
    packet.resize(13 + padded + k_aead_tag_length);
    connection_.receive({packet, address(static_cast<std::uint8_t>(1 + (which & 3)))}, now_);
    now_ += std::chrono::milliseconds(which);
    settle();
  }

 private:
  static ConnectionConfig config(bool backends) {
    ConnectionConfig config;
    if (backends) offer_multi_end(config, BackendKeyModes::k_shared);
    return config;
  }

  void settle() {
    while (const auto change = connection_.routing().poll_id_change()) {
      if (change->added && ids_.size() < k_max_ids) ids_.push_back(change->id);
    }
    if (connection_.next_timeout() <= now_) connection_.on_timeout(now_);
    for (int batches = 0; batches < 64; ++batches) {
      TransmitBatch batch;
      batch.buffer = buffer_;
      connection_.poll_transmit(batch, now_);
      if (batch.size == 0) break;
    }
    while (connection_.poll_event()) {
    }
  }

  static constexpr std::size_t k_max_ids = 64;
  bool backends_;
  SeededRandom random_{1};
  Time now_{std::chrono::seconds(1)};
  Connection connection_;
  OneRttKeys keys_;
  PacketNumber number_ = 0;
  std::vector<ConnectionId> ids_;
  std::vector<std::uint8_t> buffer_ = std::vector<std::uint8_t>(65536);
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Reader reader{Bytes{data, size}};
  Victim victim(reader.read_u8());
  while (reader.remaining() >= 2) {
    const std::uint8_t which = reader.read_u8();
    const std::size_t length = std::min<std::size_t>(reader.read_u8(), reader.remaining());
    victim.receive(which, reader.read_bytes(length));
  }
  return 0;
}
