#include <array>
#include <cstdlib>
#include <vector>

#include "channel/packet_format.h"
#include "channel/receiver.h"
#include "channel_authentication/flight_verifier.h"
#include "crypto/channel_seal_keys.h"
#include "fec/encoder.h"

namespace {

using namespace sheaf::quic;

ChannelOffer offer() {
  ChannelOffer offer;
  offer.channel = {0xc0, 1, 2, 3, 4, 5, 6, 8};
  offer.header.suite = CipherSuite::kAes128GcmSha256;
  offer.header.length = secret_length(offer.header.suite);
  offer.packet_size = 1200;
  offer.max_rate = 1'000'000;
  offer.reach = 64;
  offer.deadline = 350ms;
  offer.report_interval = 100ms;
  offer.repairs = true;
  return offer;
}

// A receiver with a verifier, and a member that has its keys and seals any frames
struct Run {
  Run(Verifier& verifier, Random& random)
      : receiver(offer(), verifier, random, now),
        keys(offer().header, first),
        repair_keys(repair.secret, repair) {
    ChannelKey key;
    key.channel = offer().channel;
    key.secret = first.secret;
    receiver.on_key(key, now);
    receiver.on_joined();
  }

  static std::vector<std::uint8_t> seal(ChannelSealKeys& keys, const ChannelId& channel,
                                        Bytes content, bool proof) {
    std::vector<std::uint8_t> packet(k_channel_overhead + content.size());
    Writer out(packet);
    write_channel_header(out, channel, false, keys.next_number(), proof);
    out.write_bytes(content);
    const SealJob job{.packet = packet.data(),
                      .payload_length = static_cast<std::uint32_t>(content.size()),
                      .header_length = k_channel_header_length,
                      .packet_number_length = k_channel_number_length,
                      .path = {},
                      .number = keys.next_number()};
    if (!keys.seal({&job, 1})) std::abort();
    return packet;
  }

  // Seals a packet. Nobody gets it yet.
  Bytes add_sealed(Bytes frames, bool proof) {
    return sealed.emplace_back(seal(keys, offer().channel, frames, proof));
  }
  void give_sealed(Bytes frames, ChannelWay way, bool proof) {
    receiver.receive(add_sealed(frames, proof), way, now);
  }
  // Gives what a member put into a packet of repairs.
  void give_repair_message(Bytes message) {
    receiver.receive(seal(repair_keys, repair_id(offer().channel), message, false),
                     ChannelWay::kGroup, now);
  }
  // Gives a repair of some of the last eight packets, with one byte changed unless `damage` is 0.
  void give_repair(std::uint8_t row, std::uint8_t which, std::uint8_t damage) {
    fec::NamedSet set;
    std::vector<Bytes> payloads;
    const std::size_t from = sealed.size() - std::min<std::size_t>(sealed.size(), 8);
    for (std::size_t i = from; i < sealed.size(); ++i) {
      if ((which >> (i - from) & 1) == 0) continue;
      set.add(i);
      payloads.push_back(Bytes(sealed[i]).subspan(k_channel_header_length));
    }
    if (set.empty()) return;
    std::vector<std::uint8_t> message(64);
    Writer out(message);
    write_repair_head(out, set, row);
    const std::size_t head = out.size();
    message.resize(head + fec::repair_size(payloads));
    const MutableBytes bytes = MutableBytes(message).subspan(head);
    if (!fec::encode_repairs(fec::best_kernel(), set, payloads, row, {&bytes, 1})) std::abort();
    bytes[damage % bytes.size()] ^= damage;
    give_repair_message(message);
  }

  void wait(Duration time) {
    now += time;
    receiver.on_timeout(now);
    receiver.poll_state();
    receiver.poll_report(now);
    // What is due at a time is done at that time.
    if (receiver.next_timeout() <= now) std::abort();
  }

  void read() {
    while (const auto event = receiver.groups().poll_event()) {
      ++events;
      const Bytes bytes = receiver.groups().peek(event->group);
      receiver.groups().consume(event->group, bytes.size());
    }
    if (receiver.groups().memory_bytes() > GroupStreams::k_max_memory + 65536) std::abort();
  }

  Time now{1s};
  ChannelSecret first{.sequence = 0, .first_number = 0, .secret = offer().header};
  ChannelSecret repair{.sequence = 0, .first_number = 0, .secret = repair_secret(offer().header)};
  ChannelReceiver receiver;
  ChannelSealKeys keys;
  ChannelSealKeys repair_keys;
  std::vector<std::vector<std::uint8_t>> sealed;  // by number
  std::uint64_t events = 0;
};

ChannelWay way_of(std::uint8_t operation) {
  if ((operation & 16) != 0) return ChannelWay::kSource;
  return (operation & 1) != 0 ? ChannelWay::kGroup : ChannelWay::kUnicast;
}

void give_repairs(Run& run, std::uint8_t operation, Bytes bytes) {
  switch (operation >> 1 & 3) {
    case 0:
      run.give_repair_message(bytes);
      break;
    case 1:
      if (bytes.size() >= 4) run.add_sealed(bytes, (operation & 8) != 0);
      break;
    default:
      if (bytes.size() >= 3) run.give_repair(bytes[0], bytes[1], bytes[2]);
      break;
  }
}

// Returns whether a packet came that its connection proves.
bool give(Run& run, Bytes input) {
  bool any_proven = false;
  Reader in(input);
  while (in.remaining() >= 2) {
    const std::uint8_t operation = in.read_u8();
    const std::size_t length = std::min<std::size_t>(in.read_u8(), in.remaining());
    const Bytes bytes = in.read_bytes(length);
    const ChannelWay way = way_of(operation);
    if ((operation & 32) != 0) {
      give_repairs(run, operation, bytes);
      continue;
    }
    any_proven |= way == ChannelWay::kSource;
    switch (operation >> 1 & 3) {
      case 0:
        // Header protection needs a sample.
        if (bytes.size() >= 4) run.give_sealed(bytes, way, (operation & 8) != 0);
        break;
      case 1:
        run.receiver.receive(bytes, way, run.now);
        break;
      case 2:
        run.wait(length * 10ms);
        break;
      default:
        run.read();
        break;
    }
  }
  run.read();
  return any_proven;
}

}  // namespace

// Records of an operation, a length and bytes: frames of a member, datagrams of an outsider,
// repairs, and time that passes. The same comes to a receiver without authentication, and to one
// that only takes what the source signed, which nobody does here.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  SeededRandom random{1};
  NoVerifier none;
  Run trusting(none, random);
  give(trusting, {data, size});
  InlineRunner runner;
  FlightVerifier flights({.channel = offer().channel, .max_datagram = 1200, .max_bytes = 60'000},
                         SigningKey(Ed25519Seed{1}).public_key(), runner, random);
  Run careful(flights, random);
  if (!give(careful, {data, size}) && careful.events > 0) std::abort();
  return 0;
}
