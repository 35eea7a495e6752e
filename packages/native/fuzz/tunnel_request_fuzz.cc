#include <cstdlib>
#include <memory>

#include "../test/http3/session_pair.h"
#include "tunnel_request/tunnel_request.h"

namespace {

using namespace sheaf;
using namespace std::chrono_literals;
using quic::Bytes;
using tunnel_request::TunnelRequest;

struct Sink final : TunnelRequest::Target {
  void on_report(Bytes) override {}
  void send(const tunnel::Packet& packet) override {
    if (!marks_pass && packet.ecn != quic::Ecn::kNotEct) std::abort();
    if (packet.payload.size() > tunnel_request::k_max_payload) std::abort();
  }
  void want_turn() override {}

  bool marks_pass = false;
};

// A tunnel whose client is an attacker
struct Run {
  Run(bool takes_datagrams, quic::TunnelMode mode, quic::TunnelReports reports,
      const tunnel_request::PayloadContexts& contexts)
      : http(1, {.extended_connect = true, .datagrams = takes_datagrams}) {
    sink.marks_pass = contexts.carry_marks();
    http.server.transport.records_datagrams = true;
    http.server.reading = false;
    http.run();
    stream = *http.client.session.submit_request({{":method", "CONNECT"},
                                                  {":protocol", "connect-udp"},
                                                  {":scheme", "https"},
                                                  {":authority", "a"},
                                                  {":path", "/"}},
                                                 true);
    http.run();
    tunnel = std::make_unique<TunnelRequest>(
        TunnelRequest::Place{http.server.session, stream, way, room, sink},
        TunnelRequest::Settings{4000, mode, reports, contexts}, now);
    static_cast<void>(http.server.session.submit_response(stream, {{":status", "200"}}, true));
    settle();
  }

  void settle() {
    for (bool more = true; more;) {
      more = false;
      while (const auto event = http.server.transport.poll_event()) {
        http.server.session.on_event(*event, now);
        more = true;
      }
      while (auto event = http.server.session.poll_event()) tunnel->on_event(*event, now);
      tunnel->on_turn();
      TunnelRequest::send_all_waiting(way, now);
      tunnel->flush();
      more = http.client.drain() || more;
      more = http.network.step() || more;
    }
    if (http.server.transport.close_error) std::abort();  // a request must not cost the connection
    if (room.used() != way.waiting_bytes) std::abort();
    if (!way.kept && room.used() > 4000 + (16 << 10)) std::abort();
  }
  // Tells the fate of what was sent.
  void settle_datagrams(bool acknowledged) {
    for (const std::uint64_t identifier : std::exchange(http.server.transport.sent_datagrams, {})) {
      const auto lost = TunnelRequest::settle(way, {identifier, acknowledged});
      if (lost && lost->stream == stream) tunnel->on_lost(lost->packet, now);
    }
    settle();
  }
  void write(Bytes bytes, bool fin = false) {
    static_cast<void>(http.client.session.write_body(stream, quic::SendChunk::copy_of(bytes), fin));
    settle();
  }

  quic::Time now{1s};
  http3::SessionPair http;
  Sink sink;
  tunnel::SharedRoom room{1 << 16};
  tunnel_request::SharedWay way;
  quic::StreamId stream;
  std::unique_ptr<TunnelRequest> tunnel;
};

}  // namespace

// Ids that a peer has registered: as many sets as `choice` says, which are near to each other, or
// too large for one byte.
tunnel_request::PayloadContexts contexts_of(std::uint8_t choice) {
  using Side = tunnel_request::PayloadContexts::Side;
  std::vector<std::uint64_t> ids;
  const std::uint64_t first = choice / 32 * 40;
  for (std::uint64_t i = 0; i < 4 * (choice / 4 % 8); ++i) ids.push_back(first + 2 * i);
  return {static_cast<Side>(choice % 3), choice % 3 == 0 ? std::vector<std::uint64_t>() : ids};
}

// The first byte chooses whether the client takes datagrams, the mode, and what becomes of
// reports, the second one the contexts. Then records of an operation, a length and bytes: bytes of
// the stream, capsules, datagrams, packets of the target, room, time and ends.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  quic::Reader in({data, size});
  constexpr std::array k_modes{quic::TunnelMode::kDatagram, quic::TunnelMode::kRetransmit,
                               quic::TunnelMode::kStream};
  const std::uint8_t choice = in.read_u8();
  Run run((choice & 1) != 0, k_modes[choice / 2 % k_modes.size()],
          static_cast<quic::TunnelReports>(choice / 16 % 3), contexts_of(in.read_u8()));
  for (int steps = 0; !in.empty() && steps < 64; ++steps) {
    const std::uint8_t operation = in.read_u8();
    const std::size_t length = std::min<std::size_t>(in.read_u8(), in.remaining());
    const Bytes bytes = in.read_bytes(length);
    switch (operation % 8) {
      case 0:
        run.write(bytes);
        break;
      case 1:
        run.write(http3::encode_capsule({http3::k_capsule_datagram, bytes}));
        break;
      case 2:
        run.http.server.transport.datagram_ecn = static_cast<quic::Ecn>(operation / 8 % 4);
        static_cast<void>(run.http.client.session.datagrams().send(run.stream, bytes, 0));
        run.settle();
        break;
      case 3: {
        const std::vector<std::uint8_t> packet(8 * length, 1);
        run.tunnel->send({packet, static_cast<quic::Ecn>(operation / 8 % 4)}, run.now);
        run.settle();
        break;
      }
      case 4:
        run.http.server.transport.datagram_room = length % 16;
        run.way.blocked = false;
        run.settle();
        break;
      case 5:
        run.now += std::chrono::milliseconds(10 * length);
        run.settle();
        break;
      case 6:
        run.settle_datagrams(length % 2 == 0);
        run.tunnel->release_spare();
        break;
      default:
        if (length % 4 == 0) run.write(bytes, true);
        if (length % 4 == 1) run.tunnel->end();
        if (length % 4 == 2) run.http.client.session.reset(run.stream, length);
        run.settle();
        break;
    }
  }
  return 0;
}
