#include <array>
#include <cstdlib>
#include <vector>

#include "channel/packet_format.h"
#include "channel/receiver.h"
#include "crypto/channel_seal_keys.h"

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
  return offer;
}

// A receiver, and a member that has its keys and seals any frames
struct Run {
  Run() : receiver(offer(), verifier, random, now), keys(offer().header, first) {
    ChannelKey key;
    key.channel = offer().channel;
    key.secret = first.secret;
    receiver.on_key(key);
    receiver.on_joined();
  }

  void give_sealed(Bytes frames, ChannelWay way) {
    std::vector<std::uint8_t> packet(k_channel_overhead + frames.size());
    Writer out(packet);
    write_channel_header(out, offer().channel, false, keys.next_number());
    out.write_bytes(frames);
    const SealJob job{.packet = packet.data(),
                      .payload_length = static_cast<std::uint32_t>(frames.size()),
                      .header_length = k_channel_header_length,
                      .packet_number_length = k_channel_number_length,
                      .path = {},
                      .number = keys.next_number()};
    if (!keys.seal({&job, 1})) std::abort();
    receiver.receive(packet, way, now);
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
      const Bytes bytes = receiver.groups().peek(event->group);
      receiver.groups().consume(event->group, bytes.size());
    }
    if (receiver.groups().memory_bytes() > GroupStreams::k_max_memory + 65536) std::abort();
  }

  Time now{1s};
  SeededRandom random{1};
  NoVerifier verifier;
  ChannelSecret first{.sequence = 0, .first_number = 0, .secret = offer().header};
  ChannelReceiver receiver;
  ChannelSealKeys keys;
};

}  // namespace

// Records of an operation, a length and bytes: frames of a member, datagrams of an outsider, and
// time that passes.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Run run;
  Reader in({data, size});
  while (in.remaining() >= 2) {
    const std::uint8_t operation = in.read_u8();
    const std::size_t length = std::min<std::size_t>(in.read_u8(), in.remaining());
    const Bytes bytes = in.read_bytes(length);
    const ChannelWay way = (operation & 1) != 0 ? ChannelWay::kGroup : ChannelWay::kUnicast;
    switch (operation >> 1 & 3) {
      case 0:
        // Header protection needs a sample.
        if (bytes.size() >= 4) run.give_sealed(bytes, way);
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
  return 0;
}
