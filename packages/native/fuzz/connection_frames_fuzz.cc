#include <cstdlib>
#include <vector>

#include "connection/connection.h"
#include "crypto/one_rtt_keys.h"
#include "sim/known_secret.h"
#include "wire/packet_header.h"

// Authenticated packets with any payload, on any path, for a server that speaks multipath: what
// comes of it is an answer or an error, never a crash. Each packet is a byte for the path, one for
// the number of payload bytes, and these.
namespace {

using namespace sheaf::quic;

AddressPair address(std::uint8_t last) {
  AddressPair pair;
  pair.local.family = pair.remote.family = Address::Family::kIpv4;
  pair.local.ip = {10, 0, 0, 200};
  pair.remote.ip = {10, 0, 0, last};
  return pair;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  SeededRandom random(1);
  Time now{std::chrono::seconds(1)};
  Connection server(Role::kServer, {}, random, now);
  ConnectionSeed seed;
  seed.send_secret = known_secret(1);
  seed.receive_secret = known_secret(2);
  seed.peer_parameters.initial_max_data = 1 << 20;
  seed.peer_parameters.initial_max_path_id = 3;
  seed.peer_parameters.active_connection_id_limit = 2;
  seed.local_id = ConnectionId(std::vector<std::uint8_t>(8, 0x55));
  seed.remote_id = ConnectionId(std::vector<std::uint8_t>(8, 0xaa));
  seed.path = address(1);
  server.set_reset_key(std::vector<std::uint8_t>(32, 9));
  if (!server.establish(seed, now)) return 0;
  server.confirm_handshake({}, now);
  std::vector<ConnectionId> ids{seed.local_id};
  while (const auto change = server.poll_id_change()) ids.push_back(change->id);

  OneRttKeys keys;
  keys.install_send_secret(known_secret(2));
  std::vector<std::uint8_t> buffer(65536);
  PacketNumber number = 0;
  for (Reader reader{Bytes{data, size}}; reader.remaining() >= 2;) {
    const std::uint8_t which = reader.read_u8();
    const std::size_t length = std::min<std::size_t>(reader.read_u8(), reader.remaining());
    const Bytes payload = reader.read_bytes(length);
    // Ids were issued to path 0 first, two for each of the others after that.
    const std::size_t index = which % ids.size();
    std::vector<std::uint8_t> packet(600);
    Writer writer(packet);
    writer.write_u8(k_fixed_bit | 3);
    writer.write_bytes(ids[index].view());
    writer.write_u32(static_cast<std::uint32_t>(number));
    writer.write_bytes(payload);
    const std::size_t padded = std::max<std::size_t>(payload.size(), 4);
    SealJob job;
    job.packet = packet.data();
    job.header_length = 13;
    job.packet_number_length = 4;
    job.payload_length = static_cast<std::uint32_t>(padded);
    job.number = number++;
    job.path = PathId{static_cast<std::uint32_t>(which >> 4 & 3)};
    if (!keys.seal({&job, 1})) std::abort();
    packet.resize(13 + padded + k_aead_tag_length);
    server.receive({packet, address(static_cast<std::uint8_t>(1 + (which & 3)))}, now);
    now += std::chrono::milliseconds(which);
    if (server.next_timeout() <= now) server.on_timeout(now);
    for (int batches = 0; batches < 64; ++batches) {
      TransmitBatch batch;
      batch.buffer = buffer;
      server.poll_transmit(batch, now);
      if (batch.size == 0) break;
    }
    while (server.poll_event()) {
    }
  }
  return 0;
}
