#pragma once

#include <string>
#include <vector>

#include "http3/session_pair.h"
#include "tunnel_request/tunnel_request.h"

namespace sheaf::tunnel_request {

using namespace std::chrono_literals;

// Keeps what a tunnel sends to its target.
struct RecordedTarget final : TunnelRequest::Target {
  void send(const tunnel::Packet& packet) override {
    payloads.push_back(http3::text_of(packet.payload));
    marks.push_back(packet.ecn);
  }
  void on_report(Bytes report) override { reports.push_back(http3::text_of(report)); }
  void want_turn() override { ++turns; }

  std::vector<std::string> payloads;
  std::vector<Ecn> marks;  // of the payloads
  std::vector<std::string> reports;
  int turns = 0;
};

// A client and the proxy's side of one request for UDP proxying, in memory
struct TunnelPair {
  explicit TunnelPair(bool client_takes_datagrams = true, std::size_t max_datagram = 1400,
                      std::size_t queue_limit = 8000)
      : http(1, {.extended_connect = true, .datagrams = client_takes_datagrams},
             {.max_datagram = max_datagram}) {
    http.server.transport.records_datagrams = true;
    // Capsules wait for whoever takes the request over.
    http.server.reading = false;
    http.run();
    stream = ask();
    limit = queue_limit;
  }

  void answer() {
    http.run();
    proxy.emplace(TunnelRequest::Place{http.server.session, stream, way, room, target},
                  TunnelRequest::Settings{limit, mode, reports, contexts}, now);
    EXPECT_TRUE(http.server.session.submit_response(stream, {{":status", "200"}}, true));
    http.client.session.datagrams().claim(stream, http.client);
    settle();
  }
  // Another request of the same client
  quic::StreamId ask() {
    return *http.client.session.submit_request({{":method", "CONNECT"},
                                                {":protocol", "connect-udp"},
                                                {":scheme", "https"},
                                                {":authority", "localhost"},
                                                {":path", "/masque/192.0.2.1/443/"}},
                                               true);
  }
  void settle() {
    for (bool more = true; more;) {
      more = turn();
      more = http.client.drain() || more;
      more = http.network.step() || more;
    }
  }
  bool turn() {
    bool any = false;
    http3::Peer& server = http.server;
    while (const auto event = server.transport.poll_event()) {
      server.session.on_event(*event, now);
      any = true;
    }
    while (auto event = server.session.poll_event()) take(*event);
    proxy->on_turn();
    TunnelRequest::send_all_waiting(way, now);
    proxy->flush();
    return any;
  }
  void take(http3::SessionEvent& event) {
    if (std::holds_alternative<http3::DatagramsWritable>(event)) way.blocked = false;
    if (const auto* outcome = std::get_if<http3::DatagramOutcome>(&event)) {
      const auto lost = TunnelRequest::settle(way, *outcome);
      if (lost && lost->stream == stream) proxy->on_lost(lost->packet, now);
      return;
    }
    proxy->on_event(event, now);
  }

  // The client sends, as a datagram or in a capsule.
  void send(std::string_view datagram) {
    EXPECT_TRUE(http.client.session.datagrams().send(stream, http3::bytes_of(datagram), 0));
    settle();
  }
  void write(Bytes bytes, bool fin = false) {
    EXPECT_TRUE(http.client.session.write_body(stream, quic::SendChunk::copy_of(bytes), fin));
    settle();
  }
  void send_capsule(std::uint64_t type, std::string_view value) {
    write(http3::encode_capsule({type, http3::bytes_of(value)}));
  }
  // The target sends.
  void receive(std::string_view payload, Ecn ecn = Ecn::kNotEct) {
    proxy->send({http3::bytes_of(payload), ecn}, now);
    proxy->flush();
    settle();
  }
  // Tells the fate of a datagram of the proxy, by its place in the order in which they were sent.
  void settle_datagram(std::size_t place, bool acknowledged) {
    http3::SessionEvent event =
        http3::DatagramOutcome{http.server.transport.sent_datagrams.at(place), acknowledged};
    take(event);
    settle();
  }
  std::vector<std::string> payloads_at_client() const {
    std::vector<std::string> payloads;
    for (const auto& [of, datagram] : http.client.datagrams) payloads.push_back(datagram.substr(1));
    return payloads;
  }
  std::vector<int> contexts_at_client() const {
    std::vector<int> ids;
    for (const auto& [of, datagram] : http.client.datagrams) ids.push_back(datagram.at(0));
    return ids;
  }
  // The connection has room for so many more datagrams.
  void make_room(std::size_t datagrams) {
    http.server.transport.datagram_room = datagrams;
    way.blocked = datagrams == 0;
    settle();
  }
  std::uint64_t dropped(tunnel::DropReason reason) const { return proxy->counts().dropped(reason); }

  quic::Time now{1s};
  http3::SessionPair http;
  tunnel::SharedRoom room{1 << 20};
  SharedWay way;
  RecordedTarget target;
  std::size_t limit = 0;
  // Of the next `answer`
  quic::TunnelMode mode = quic::TunnelMode::kDatagram;
  quic::TunnelReports reports = quic::TunnelReports::kNone;
  PayloadContexts contexts;
  quic::StreamId stream;
  std::optional<TunnelRequest> proxy;
};

}  // namespace sheaf::tunnel_request
