#include <cstdlib>
#include <string>

#include "tunnel_request/tunnel_stream.h"

namespace {

using namespace sheaf;
using namespace std::chrono_literals;
using quic::Bytes;
using tunnel_request::TunnelStream;

constexpr std::size_t k_queue_limit = 4000;

struct Tunnel {
  // Returns what came of the bytes: packets for the target, and the error.
  std::optional<http3::ErrorCode> receive(Bytes bytes) {
    return stream.receive(bytes, [this](const tunnel::Packet& packet) {
      if (packet.payload.size() > tunnel_request::k_max_payload) std::abort();
      packets.emplace_back(packet.payload.begin(), packet.payload.end());
      marks.push_back(packet.ecn);
    });
  }

  tunnel::SharedRoom room{1 << 16};
  std::size_t waiting_bytes = 0;
  TunnelStream stream{
      {room, waiting_bytes},
      k_queue_limit,
      {tunnel_request::PayloadContexts::Side::kProxy, {0, 2, 4, 6, 8, 10, 300, 12}}};
  std::vector<std::string> packets;
  std::vector<quic::Ecn> marks;
};

// Bytes mean the same whatever pieces they come in.
void compare_pieces(Bytes bytes, std::size_t piece) {
  Tunnel whole;
  const auto fault = whole.receive(bytes);
  Tunnel pieces;
  std::optional<http3::ErrorCode> later;
  for (std::size_t at = 0; at < bytes.size() && !later; at += piece) {
    later = pieces.receive(bytes.subspan(at, std::min(piece, bytes.size() - at)));
  }
  if (fault != later || whole.packets != pieces.packets) std::abort();
  if (whole.marks != pieces.marks) std::abort();
  if (!fault && whole.stream.at_boundary() != pieces.stream.at_boundary()) std::abort();
}

// What is sent to a client is what another tunnel reads.
void check_round_trip(quic::Reader& in) {
  Tunnel tunnel;
  quic::Time now{1s};
  std::vector<std::uint8_t> out;
  for (int steps = 0; !in.empty() && steps < 64; ++steps) {
    const std::size_t length = in.read_u8();
    if (length % 4 == 0) {
      now += std::chrono::milliseconds(length);
      tunnel.stream.take(out, now);
    } else {
      const std::string payload(8 * length, static_cast<char>(length));
      const Bytes bytes{reinterpret_cast<const std::uint8_t*>(payload.data()), payload.size()};
      tunnel.stream.send({bytes, static_cast<quic::Ecn>(length % 4)}, now);
    }
    if (tunnel.room.used() > k_queue_limit || tunnel.room.used() != tunnel.waiting_bytes)
      std::abort();
  }
  Tunnel reader;
  if (reader.receive(out) || !reader.stream.at_boundary()) std::abort();
  if (reader.packets.size() != tunnel.stream.counts().to_client.packets) std::abort();
  for (std::size_t i = 0; i < reader.packets.size(); ++i) {
    const std::string& packet = reader.packets[i];
    const auto length = static_cast<std::uint8_t>(packet[0]);
    if (packet.size() != std::size_t{8} * length) std::abort();
    const auto sent = static_cast<quic::Ecn>(length % 4);
    if (reader.marks[i] != sent && reader.marks[i] != quic::Ecn::kCe) std::abort();
  }
}

}  // namespace

// The first byte chooses the size of pieces. The rest are bytes of a client, and then the steps of
// a target: lengths of packets, and times at which the client takes what waits.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  quic::Reader in({data, size});
  const std::size_t piece = 1 + in.read_u8() % 32;
  compare_pieces(Bytes(data, size).last(in.remaining()), piece);
  check_round_trip(in);
  return 0;
}
