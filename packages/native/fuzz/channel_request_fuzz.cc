#include <cstdlib>

#include "../test/http3/session_pair.h"
#include "channel_authentication/timed_source.h"
#include "channel_request/receiver_request.h"
#include "channel_request/source_request.h"

namespace {

using namespace sheaf;
using namespace std::chrono_literals;
using channel_request::ChannelRequest;
using quic::Bytes;
using quic::Time;

quic::ChannelOffer offer() {
  quic::ChannelOffer offer;
  offer.channel = {0xc0, 1, 2, 3, 4, 5, 6, 8};
  offer.sequence = 1;
  offer.source = {.ip = {10, 1, 2, 3}, .port = 4433, .family = quic::Address::Family::kIpv4};
  offer.header.suite = quic::CipherSuite::kAes128GcmSha256;
  offer.header.length = quic::secret_length(offer.header.suite);
  offer.packet_size = 1200;
  offer.max_rate = 1'000'000;
  offer.reach = 256;
  offer.deadline = 2s;
  offer.report_interval = 100ms;
  return offer;
}

// The same channel with a group, repairs and a scheme that signs
quic::ChannelOffer proven_offer(quic::AuthenticationScheme scheme) {
  quic::ChannelOffer proven = offer();
  proven.group = {.ip = {232, 1, 2, 3}, .port = 5004, .family = quic::Address::Family::kIpv4};
  proven.authentication =
      quic::offer_of_public_key(scheme, quic::SigningKey(quic::Ed25519Seed{1}).public_key());
  proven.repairs = true;
  return proven;
}

// Whether the channel has the scheme `timed`, at a source and in the offer to a receiver
bool is_timed(std::uint8_t choice) { return (choice & 16) != 0; }

constexpr quic::TimedSchedule k_schedule{.start = Time{1s}};

std::unique_ptr<quic::Authenticator> chosen_authenticator(std::uint8_t choice,
                                                          quic::KeyChain& chain) {
  if (!is_timed(choice)) return std::make_unique<quic::NoAuthenticator>();
  return std::make_unique<quic::TimedSource>(offer().channel, k_schedule, chain);
}

quic::ChannelOffer chosen_offer(std::uint8_t choice) {
  if ((choice & 4) == 0) return offer();
  if (is_timed(choice)) {
    quic::ChannelOffer timed = proven_offer(quic::AuthenticationScheme::kSigned);
    timed.authentication = quic::offer_of(quic::TimedParameters{.schedule = k_schedule});
    timed.repairs = false;
    return timed;
  }
  return proven_offer((choice & 8) == 0 ? quic::AuthenticationScheme::kSigned
                                        : quic::AuthenticationScheme::kPacketSignatures);
}

// A request of which one side is ours and the other an attacker
struct Run {
  Run(bool source, std::uint8_t choice)
      : http(1, {.extended_connect = true, .datagrams = true}),
        own(source ? http.server : http.client),
        attacker(source ? http.client : http.server),
        authenticator(chosen_authenticator(choice, chain)),
        channel({.offer = offer()}, *authenticator, random) {
    http.client.reading = http.server.reading = false;
    http.run();
    stream = *http.client.session.submit_request({{":method", "CONNECT"},
                                                  {":protocol", "sheaf-channel"},
                                                  {":scheme", "https"},
                                                  {":authority", "a"},
                                                  {":path", "/"}},
                                                 true);
    http.run();
    static_cast<void>(http.server.session.submit_response(stream, {{":status", "200"}}, true));
    http.run();
    const ChannelRequest::Place place{own.session, stream};
    if (source) {
      request = std::make_unique<channel_request::SourceRequest>(place, channel, now);
    } else {
      auto made = std::make_unique<channel_request::ReceiverRequest>(place, quic::ChannelLimits{},
                                                                     random, now);
      receiver = made.get();
      request = std::move(made);
    }
    if (const auto group = channel.open_group()) {
      channel.write(*group, std::vector<std::uint8_t>(5000, 7), false);
    }
  }

  void settle() {
    for (bool more = true; more;) {
      more = false;
      while (const auto event = own.transport.poll_event()) {
        own.session.on_event(*event, now);
        more = true;
      }
      while (auto event = own.session.poll_event()) request->on_event(*event, now);
      request->on_turn(now);
      more = attacker.drain() || more;
      more = http.network.step() || more;
    }
    if (own.transport.close_error) std::abort();  // a request must not cost the connection
  }

  void wait(quic::Duration time) {
    now += time;
    channel.on_timeout(now);
    while (!channel.poll_transmit(32, now).empty()) {
    }
    if (receiver) receiver->on_timeout(now);
    settle();
  }

  void write(Bytes bytes) {
    static_cast<void>(attacker.session.write_body(stream, quic::SendChunk::copy_of(bytes), false));
    settle();
  }

  Time now{1s};
  http3::SessionPair http;
  http3::Peer& own;
  http3::Peer& attacker;
  quic::SeededRandom random{1};
  static inline quic::KeyChain chain{offer().channel, quic::ChainKey{1}};  // of all inputs
  std::unique_ptr<quic::Authenticator> authenticator;
  quic::ChannelSource channel;
  quic::StreamId stream;
  std::unique_ptr<ChannelRequest> request;
  channel_request::ReceiverRequest* receiver = nullptr;
};

// What begins a channel in order, so that the bytes that follow meet one that runs
void begin(Run& run, std::uint8_t choice) {
  const auto value = run.receiver ? quic::ChannelCapsuleValue(chosen_offer(choice))
                                  : quic::ChannelCapsuleValue(quic::ChannelState{
                                        .channel = offer().channel, .offer = offer().sequence});
  const auto bytes = quic::encode_channel_capsule(value);
  run.write(http3::encode_capsule({static_cast<std::uint64_t>(quic::type_of(value)), bytes}));
}

}  // namespace

// The first byte chooses the side, whether the channel has begun, and its offer. Then records of an
// operation, a length and bytes: bytes of the stream, capsules, datagrams, packets of the group,
// and time.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  quic::Reader in({data, size});
  const std::uint8_t choice = in.read_u8();
  Run run((choice & 1) != 0, choice);
  run.settle();
  if ((choice & 2) != 0) begin(run, choice);
  for (int steps = 0; !in.empty() && steps < 64; ++steps) {
    const std::uint8_t operation = in.read_u8();
    const std::size_t length = std::min<std::size_t>(in.read_u8(), in.remaining());
    const Bytes bytes = in.read_bytes(length);
    switch (operation % 5) {
      case 0:
        run.write(bytes);
        break;
      case 1:
        run.write(http3::encode_capsule({0x5eb0u + (operation / 5) % 3, bytes}));
        break;
      case 2:
        static_cast<void>(run.attacker.session.datagrams().send(run.stream, bytes, 0));
        run.settle();
        break;
      case 3:
        if (run.receiver) run.receiver->on_group_packet(bytes, run.now);
        break;
      default:
        run.wait(std::chrono::milliseconds(10 * length));
        break;
    }
  }
  return 0;
}
