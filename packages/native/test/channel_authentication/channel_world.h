#pragma once

#include <vector>

#include "channel_authentication/authenticator.h"
#include "channel_authentication/verifier.h"
#include "crypto/channel_secret.h"
#include "crypto/ed25519.h"
#include "util/random.h"

namespace sheaf::quic {

inline constexpr Time k_auth_start{std::chrono::hours(3)};
inline constexpr ChannelId k_test_channel{0xc0, 0xc1, 0xc2, 0xc3, 0xc4, 0xc5, 0xc6, 0xc7};

inline Ed25519Seed test_seed(std::uint8_t value) {
  Ed25519Seed seed;
  seed.fill(value);
  return seed;
}

// A datagram that stands for a sealed packet: random bytes, and room for the trailer
struct TestPacket {
  PacketNumber number = 0;
  std::uint64_t key_sequence = 0;
  std::vector<std::uint8_t> datagram{};

  SealedPacket sealed() {
    return {.number = number, .key_sequence = key_sequence, .datagram = datagram};
  }
  ReceivedPacket received() const {
    return {.number = number, .key_sequence = key_sequence, .datagram = datagram};
  }
};

inline TestPacket random_packet(PacketNumber number, Random& random, std::size_t trailer = 0,
                                std::size_t length = 200) {
  TestPacket packet{.number = number};
  packet.datagram.resize(length + trailer);
  random.fill(packet.datagram);
  return packet;
}

// Packets of consecutive numbers, that the source has taken. They stay in place.
inline std::vector<TestPacket> send_packets(Authenticator& source, PacketNumber first,
                                            std::size_t count, Random& random, Time now,
                                            std::size_t length = 200) {
  std::vector<TestPacket> packets;
  packets.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    packets.push_back(random_packet(first + i, random, source.trailer_length(), length));
    const SealedPacket sealed = packets.back().sealed();
    source.add({&sealed, 1}, now);
  }
  return packets;
}

// All frames that the source sends by `now`, each in a buffer of its own
inline std::vector<std::vector<std::uint8_t>> frames_of(Authenticator& source, Time now) {
  std::vector<std::vector<std::uint8_t>> frames;
  for (;;) {
    std::vector<std::uint8_t> frame(1200);
    frame.resize(source.write_frame(frame, now));
    if (frame.empty()) return frames;
    frames.push_back(frame);
  }
}

inline IntegrityFrame decoded(const std::vector<std::uint8_t>& bytes) {
  Reader reader(bytes);
  return *decode_integrity_frame(reader);
}

inline void give(Verifier& verifier, const std::vector<std::vector<std::uint8_t>>& frames, Time now,
                 FrameOrigin origin = FrameOrigin::kChannel) {
  for (const auto& frame : frames) verifier.on_frame(decoded(frame), origin, now);
}

// The numbers that are proven now. Checks their bytes against those that were sent.
inline std::vector<PacketNumber> proven_numbers(Verifier& verifier,
                                                const std::vector<TestPacket>& sent) {
  std::vector<PacketNumber> numbers;
  while (const auto proven = verifier.next_proven()) {
    const TestPacket& packet = sent[proven->number - sent.front().number];
    const Bytes sealed =
        Bytes(packet.datagram).first(packet.datagram.size() - verifier.trailer_length());
    if (std::equal(sealed.begin(), sealed.end(), proven->sealed.begin(), proven->sealed.end())) {
      numbers.push_back(proven->number);
    } else {
      numbers.push_back(k_no_packet_number);  // forged
    }
  }
  return numbers;
}

inline std::vector<PacketNumber> numbers_from(PacketNumber first, std::size_t count) {
  std::vector<PacketNumber> numbers;
  for (std::size_t i = 0; i < count; ++i) numbers.push_back(first + i);
  return numbers;
}

}  // namespace sheaf::quic
