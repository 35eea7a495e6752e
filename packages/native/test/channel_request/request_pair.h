#pragma once

#include "channel/messages.h"
#include "channel/skewed_clock.h"
#include "channel_request/receiver_request.h"
#include "channel_request/source_request.h"
#include "http3/session_pair.h"

namespace sheaf::channel_request {

using namespace std::chrono_literals;

inline quic::ChannelOffer copies_offer() {
  quic::ChannelOffer offer = quic::example_offer();
  offer.group = {};
  offer.authentication = {};
  return offer;
}

// Proves nothing, whatever it offers
class OfferedAuthenticator final : public quic::Authenticator {
 public:
  explicit OfferedAuthenticator(const quic::AuthenticationOffer& offer) : offer_(offer) {}
  quic::AuthenticationOffer offer(Time) override { return offer_; }
  void add(std::span<const quic::SealedPacket>, Time) override {}

 private:
  quic::AuthenticationOffer offer_;
};

// A source and a receiver at the ends of one request, in memory
struct RequestPair {
  // Without `proof`, nothing is proven, whatever the offer says.
  explicit RequestPair(const quic::ChannelOffer& offer = copies_offer(),
                       std::size_t max_datagram = 1400,
                       std::unique_ptr<quic::Authenticator> proof = nullptr,
                       std::uint64_t slowest_rate = 0)
      : http(1, {.extended_connect = true, .datagrams = true}, {.max_datagram = max_datagram}),
        authenticator(proof ? std::move(proof)
                            : std::make_unique<OfferedAuthenticator>(offer.authentication)),
        source({.offer = offer, .slowest_rate = slowest_rate, .key_interval = 1s}, *authenticator,
               random) {
    // Capsules wait for whoever takes the request over.
    http.client.reading = http.server.reading = false;
    http.run();
    stream = *http.client.session.submit_request({{":method", "CONNECT"},
                                                  {":protocol", "sheaf-channel"},
                                                  {":scheme", "https"},
                                                  {":authority", "localhost"},
                                                  {":path", "/live"}},
                                                 true);
    http.run();
    EXPECT_TRUE(http.server.session.submit_response(stream, {{":status", "200"}}, true));
    http.run();
  }

  void serve() {
    at_source.emplace(ChannelRequest::Place{http.server.session, stream, 3}, source, now);
  }
  void watch(const quic::ChannelLimits& limits = {}) {
    at_receiver.emplace(ChannelRequest::Place{http.client.session, stream, 5}, limits, random, now);
  }

  // Returns true when something moved.
  template <typename End>
  bool turn(http3::Peer& peer, End& end) {
    bool any = false;
    while (const auto event = peer.transport.poll_event()) {
      peer.session.on_event(*event, now);
      any = true;
    }
    while (auto event = peer.session.poll_event()) {
      if (end && end->on_event(*event, now)) continue;
      std::visit([&](auto& value) { peer.handle(value); }, *event);
    }
    if (end) end->on_turn(now);
    return any;
  }
  void settle() {
    for (bool more = true; more;) {
      more = !stalled && turn(http.client, at_receiver);
      more = turn(http.server, at_source) || more;
      more = http.network.step() || more;
    }
  }
  // Lets time pass at both ends.
  void run(quic::Duration time) {
    for (const quic::Time end = now + time; now < end; now += 10ms) {
      source.on_timeout(now);
      while (!source.poll_transmit(32, now).empty()) {
      }
      if (at_receiver && !stalled) at_receiver->on_timeout(now);
      settle();
    }
  }

  // Sends bytes on the stream as one side.
  void write(http3::Peer& peer, Bytes bytes) {
    EXPECT_TRUE(peer.session.write_body(stream, quic::SendChunk::copy_of(bytes), false));
    settle();
  }
  void write(http3::Peer& peer, const quic::ChannelCapsuleValue& value) {
    const auto encoded = quic::encode_channel_capsule(value);
    write(peer, http3::encode_capsule({static_cast<std::uint64_t>(quic::type_of(value)), encoded}));
  }
  void send(http3::Peer& peer, Bytes datagram) {
    EXPECT_TRUE(peer.session.datagrams().send(stream, datagram, 0));
    settle();
  }

  quic::Time now{1s};
  bool stalled = false;  // the receiver reads nothing
  http3::SessionPair http;
  quic::SeededRandom random{7};
  std::unique_ptr<quic::Authenticator> authenticator;
  quic::ChannelSource source;
  quic::StreamId stream;
  std::optional<SourceRequest> at_source;
  std::optional<ReceiverRequest> at_receiver;
};

// Reads all that the group has now.
inline std::string read_group(ReceiverRequest& request, quic::StreamId group) {
  std::string text;
  quic::GroupStreams& groups = request.receiver()->groups();
  while (const auto event = groups.poll_event()) {
  }
  for (Bytes bytes; !(bytes = groups.peek(group)).empty();) {
    text += http3::text_of(bytes);
    groups.consume(group, bytes.size());
  }
  return text;
}

}  // namespace sheaf::channel_request
