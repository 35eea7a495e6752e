#include <string>

#include "../test/http3/memory_transport.h"
#include "http3/session.h"
#include "webtransport/session_set.h"

namespace {

using namespace sheaf;
using quic::StreamId;

struct Discarding : http3::DatagramConsumer {
  void on_datagram(http3::HttpDatagram) override {}
};

// Reads everything that a session offers, and answers what it can.
void serve(http3::Session& session, webtransport::SessionSet& sessions) {
  while (auto event = session.poll_event()) {
    if (sessions.on_event(*event, {})) continue;
    if (const auto* request = std::get_if<http3::RequestReceived>(&*event)) {
      static_cast<void>(session.submit_response(request->stream, {{":status", "200"}}, false));
    } else if (const auto* body = std::get_if<http3::BodyReadable>(&*event)) {
      std::vector<std::uint8_t> out(session.readable_body(body->stream));
      session.read_body(body->stream, out, {});
    }
  }
  while (const auto event = sessions.poll_event()) {
    if (const auto* requested = std::get_if<webtransport::SessionRequested>(&*event)) {
      static_cast<void>(sessions.accept(requested->session, {}, {}));
    } else if (const auto* readable = std::get_if<webtransport::StreamReadable>(&*event)) {
      const std::size_t bytes = sessions.streams().peek(readable->stream).size();
      static_cast<void>(sessions.streams().consume(readable->stream, bytes, {}));
    }
  }
}

}  // namespace

// Feeds bytes to the streams of a session. The first byte chooses the role, and how the bytes are
// cut. Each step has three bytes: the stream, what happens on it, and how many of the following
// bytes are written.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  quic::Reader input({data, size});
  const std::uint8_t choice = input.read_u8();
  const quic::Role role = choice & 1 ? quic::Role::kClient : quic::Role::kServer;
  http3::MemoryNetwork network(choice, {.max_piece = 1u + (choice >> 3)});
  auto& transport = network.end(role);
  auto& attacker = network.peer(role);
  quic::SeededRandom random(choice);
  http3::Session session(transport, {.webtransport = (choice & 2) != 0}, random);
  Discarding datagrams;
  webtransport::SessionSet sessions(session, datagrams);
  session.start({});
  if (role == quic::Role::kClient) {
    static_cast<void>(session.submit_request(
        {{":method", "GET"}, {":scheme", "https"}, {":authority", "a"}, {":path", "/"}}, false));
  }
  std::vector<StreamId> streams = {StreamId{0}};
  for (int steps = 0; !input.empty() && steps < 64; ++steps) {
    const std::uint8_t which = input.read_u8();
    const std::uint8_t action = input.read_u8();
    if (which % 4 == 3) {
      const auto direction =
          action & 1 ? quic::Directionality::kUnidirectional : quic::Directionality::kBidirectional;
      if (const auto opened = attacker.open_stream(direction)) streams.push_back(*opened);
    }
    const StreamId stream = streams[which / 4 % streams.size()];
    const std::size_t length = std::min<std::size_t>(input.read_u8(), input.remaining());
    const quic::Bytes bytes = input.read_bytes(length);
    if (action % 16 == 15) {
      attacker.reset_stream(stream, action);
    } else if (action % 16 == 14) {
      attacker.stop_sending(stream, action);
    } else if (action % 16 == 13) {
      attacker.send_datagram(bytes, 0);
    } else {
      static_cast<void>(attacker.write(stream, quic::SendChunk::copy_of(bytes), action % 16 == 12));
    }
    for (bool more = true; more;) {
      more = network.step();
      while (const auto event = transport.poll_event()) session.on_event(*event, {});
      while (attacker.poll_event()) {
      }
      serve(session, sessions);
    }
  }
  return 0;
}
