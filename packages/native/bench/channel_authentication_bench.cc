// `channel_authentication_bench [ROUNDS] [RECEIVERS...]`: what source authentication of a channel
// costs for each packet of 1350 bytes, at the source and at a receiver, beside sealing and opening
// the packet. A round takes 1000 packets through every scheme, in turns. Prints a JSON line for
// each scheme: medians of the rounds in nanoseconds of the calling thread. `signed, helper` leaves
// hashes and signatures to a helper thread, and counts only what is left to the caller; its `wall`
// values include the time for which it waits for the helper.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <string>
#include <vector>

#include "channel_authentication/flight_source.h"
#include "channel_authentication/flight_verifier.h"
#include "channel_authentication/helper_thread.h"
#include "channel_authentication/packet_signatures.h"
#include "channel_authentication/receiver_tags.h"
#include "channel_authentication/stream_signatures.h"
#include "channel_authentication/timed_source.h"
#include "channel_authentication/timed_verifier.h"
#include "crypto/channel_open_keys.h"
#include "crypto/channel_seal_keys.h"
#include "wire/packet_header.h"

namespace {

using namespace sheaf::quic;
using Stopwatch = std::chrono::steady_clock;

constexpr std::size_t k_packet = 1350;
constexpr std::size_t k_packets = 1000;
constexpr std::size_t k_batch = 40;  // that a source seals at once
constexpr ChannelId k_channel{1, 2, 3, 4, 5, 6, 7, 8};
constexpr std::size_t k_room = k_packet + sizeof(Ed25519Signature);

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "channel_authentication_bench: %s\n", what);
  std::exit(1);
}

double thread_ns() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return 1e9 * static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec);
}

double wall_ns() {
  return std::chrono::duration<double, std::nano>(Stopwatch::now().time_since_epoch()).count();
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

TrafficSecret secret_of(std::uint8_t value) {
  TrafficSecret secret;
  secret.length = 32;
  secret.bytes.fill(value);
  return secret;
}

// Times of one side, over rounds
struct Side {
  std::vector<double> thread;
  std::vector<double> wall;

  void measure(const std::function<void()>& work) {
    const double thread_start = thread_ns();
    const double wall_start = wall_ns();
    work();
    thread.push_back((thread_ns() - thread_start) / k_packets);
    wall.push_back((wall_ns() - wall_start) / k_packets);
  }
};

// The packets of a round, each in its own place with room for a trailer
class Packets {
 public:
  Packets() {
    for (std::size_t i = 0; i < k_packets; ++i) {
      std::uint8_t* bytes = bytes_.data() + i * k_room;
      bytes[0] = k_fixed_bit | 3;
      std::ranges::copy(k_channel, bytes + 1);
    }
  }
  std::uint8_t* at(std::size_t index) { return bytes_.data() + index * k_room; }

  // Writes the headers of the next packets, and seals them in batches.
  void seal(ChannelSealKeys& keys) {
    first_ = keys.next_number();
    for (std::size_t i = 0; i < k_packets; i += k_batch) {
      std::array<SealJob, k_batch> jobs;
      for (std::size_t j = 0; j < k_batch; ++j) {
        std::uint8_t* bytes = at(i + j);
        bytes[0] = k_fixed_bit | 3;
        store(bytes + 9, static_cast<std::uint32_t>(first_ + i + j));
        jobs[j] = {.packet = bytes,
                   .payload_length = k_packet - k_channel_header_length - k_aead_tag_length,
                   .header_length = k_channel_header_length,
                   .packet_number_length = 4,
                   .path = {},
                   .number = first_ + i + j};
      }
      if (!keys.seal(jobs)) fail("a key is exhausted: fewer rounds, please");
    }
  }
  void open(ChannelOpenKeys& keys, Time now) {
    std::array<std::uint8_t, k_packet> payload;
    for (std::size_t i = 0; i < k_packets; ++i) {
      const Bytes packet{at(i), k_packet};
      const auto header = keys.read_header(packet);
      if (!header || keys.open(*header, packet, ChannelOpenKeys::Origin::kProven, now,
                               payload.data()) != ChannelOpenKeys::Outcome::kOpened) {
        fail("a packet did not open");
      }
    }
  }
  PacketNumber first() const { return first_; }

 private:
  std::vector<std::uint8_t> bytes_ = std::vector<std::uint8_t>(k_packets * k_room);
  PacketNumber first_ = 0;
};

// One scheme with its two sides
class Scheme {
 public:
  Scheme(std::string name, Authenticator& source, Verifier& member)
      : name_(std::move(name)), source_(source), member_(member) {}

  void round(Packets& packets, Time now) {
    frames_.clear();
    source_side_.measure([&] { send(packets, now); });
    receiver_side_.measure([&] { receive(packets, now); });
  }
  void print() const {
    std::printf(
        "{\"scheme\":\"%s\",\"source_ns\":%.0f,\"receiver_ns\":%.0f,"
        "\"source_wall_ns\":%.0f,\"receiver_wall_ns\":%.0f,\"frame_bytes_per_packet\":%.1f,"
        "\"trailer_bytes\":%zu}\n",
        name_.c_str(), median(source_side_.thread), median(receiver_side_.thread),
        median(source_side_.wall), median(receiver_side_.wall),
        static_cast<double>(frame_bytes_) / static_cast<double>(packets_),
        source_.trailer_length());
  }

 private:
  void send(Packets& packets, Time now) {
    const std::size_t length = k_packet + source_.trailer_length();
    for (std::size_t i = 0; i < k_packets; i += k_batch) {
      std::array<SealedPacket, k_batch> batch;
      for (std::size_t j = 0; j < k_batch; ++j) {
        batch[j] = {.number = packets.first() + i + j,
                    .key_sequence = 0,
                    .datagram = {packets.at(i + j), length}};
      }
      source_.add(batch, now);
      fetch_frames(now);
    }
    source_.on_timeout(now + 200ms);
    while (source_.reads_from() != k_no_packet_number) std::this_thread::sleep_for(20us);
    fetch_frames(now + 200ms);
    packets_ += k_packets;
  }
  void fetch_frames(Time now) {
    for (;;) {
      const std::size_t start = frames_.size();
      frames_.resize(start + 1250);
      const std::size_t length = source_.write_frame({frames_.data() + start, 1250}, now);
      frames_.resize(start + length);
      frame_bytes_ += length;
      if (length == 0) return;
    }
  }
  // The frames of a flight come after all its packets.
  void receive(Packets& packets, Time now) {
    const std::size_t length = k_packet + source_.trailer_length();
    std::size_t proven = 0;
    for (std::size_t i = 0; i < k_packets; ++i) {
      const ReceivedPacket packet{packets.first() + i, 0, {packets.at(i), length}};
      proven += member_.on_packet(packet, now) == Verdict::kProven ? 1 : 0;
    }
    Reader reader(frames_);
    while (!reader.empty()) {
      const auto frame = decode_integrity_frame(reader);
      if (!frame) fail("a frame is malformed");
      member_.on_frame(*frame, FrameOrigin::kConnection, now + 200ms);
    }
    while (proven < k_packets) {
      if (member_.next_proven()) {
        ++proven;
      } else {
        std::this_thread::sleep_for(20us);  // the helper works
      }
    }
  }

  std::string name_;
  Authenticator& source_;
  Verifier& member_;
  std::vector<std::uint8_t> frames_;
  Side source_side_;
  Side receiver_side_;
  std::size_t frame_bytes_ = 0;
  std::size_t packets_ = 0;
};

// A signature for each stream of `length` bytes, whose content is that of the packets
class StreamScheme {
 public:
  StreamScheme(std::size_t packets_of_stream, const SigningKey& key)
      : packets_of_stream_(packets_of_stream),
        source_(k_channel, key, 4),
        member_(k_channel, key.public_key(), 4) {}

  void round(Packets& packets) {
    frames_.clear();
    source_side_.measure([&] {
      for (std::size_t i = 0; i < k_packets; i += packets_of_stream_) {
        for (std::size_t j = i; j < i + packets_of_stream_; ++j) {
          source_.update(i, {packets.at(j), k_packet});
        }
        std::array<std::uint8_t, 100> room;
        frames_.emplace_back(room.begin(), room.begin() + source_.finish(i, room));
      }
    });
    receiver_side_.measure([&] {
      for (std::size_t i = 0; i < k_packets; i += packets_of_stream_) {
        for (std::size_t j = i; j < i + packets_of_stream_; ++j) {
          member_.update(i, {packets.at(j), k_packet});
        }
        Reader reader(frames_[i / packets_of_stream_]);
        if (!member_.finish(std::get<StreamSignatureFrame>(*decode_integrity_frame(reader)))) {
          fail("a stream is not proven");
        }
      }
    });
  }
  void print() const {
    std::printf(
        "{\"scheme\":\"per stream\",\"packets_of_stream\":%zu,\"source_ns\":%.0f,"
        "\"receiver_ns\":%.0f}\n",
        packets_of_stream_, median(source_side_.thread), median(receiver_side_.thread));
  }

 private:
  std::size_t packets_of_stream_;
  StreamSigner source_;
  StreamVerifier member_;
  std::vector<std::vector<std::uint8_t>> frames_;
  Side source_side_;
  Side receiver_side_;
};

// Everything that is measured
class Bench {
 public:
  explicit Bench(const std::vector<std::size_t>& receivers) {
    clock_.on_answer(start_, start_);
    add("none", none_source_, none_member_);
    add("signed", flights_, flight_member_);
    add("signed, helper", helped_flights_, helped_member_);
    add("timed", timed_, timed_member_);
    add("per packet", signer_, signer_member_);
    for (const std::size_t count : receivers) {
      taggers_.push_back(std::make_unique<ReceiverTagger>());
      for (std::size_t i = 0; i < count; ++i) taggers_.back()->add_receiver(i, MacKey{1});
      tag_members_.push_back(
          std::make_unique<TagVerifier>(TagVerifierConfig{.receiver = 0, .key = {1}}, random_));
      add("tags, " + std::to_string(count) + " receivers", *taggers_.back(), *tag_members_.back());
    }
    if (open_.add({.sequence = 0, .first_number = 0, .secret = secret_of(1)}, Time{}) !=
        ChannelOpenKeys::Added::kAdded) {
      fail("no key");
    }
  }

  void round(int index) {
    const Time now = start_ + index * 400ms;
    seal_side_.measure([&] { packets_.seal(seal_); });
    open_side_.measure([&] { packets_.open(open_, now); });
    for (auto& scheme : schemes_) scheme.round(packets_, now);
    for (auto& scheme : streams_) scheme->round(packets_);
  }
  void print() const {
    std::printf("{\"scheme\":\"seal and open\",\"source_ns\":%.0f,\"receiver_ns\":%.0f}\n",
                median(seal_side_.thread), median(open_side_.thread));
    for (const auto& scheme : schemes_) scheme.print();
    for (const auto& scheme : streams_) scheme->print();
  }

 private:
  void add(std::string name, Authenticator& source, Verifier& member) {
    schemes_.emplace_back(std::move(name), source, member);
  }

  Time start_{std::chrono::hours(1)};
  SeededRandom random_{1};
  SigningKey key_{Ed25519Seed{1}};
  InlineRunner inline_;
  HelperThread helper_;
  ChannelSealKeys seal_{secret_of(9), {.sequence = 0, .first_number = 0, .secret = secret_of(1)}};
  ChannelOpenKeys open_{secret_of(9)};
  Packets packets_;
  KeyChain chain_{k_channel, ChainKey{1}};
  ClockBound clock_;
  TimedSchedule schedule_{.start = start_, .interval = 50ms, .delay = 2};
  NoAuthenticator none_source_;
  NoVerifier none_member_;
  FlightConfig config_{.channel = k_channel, .max_packets = 1000, .copies = 1};
  FlightSource flights_{config_, key_, inline_};
  FlightSource helped_flights_{config_, key_, helper_};
  FlightVerifier flight_member_{{.channel = k_channel}, key_.public_key(), inline_, random_};
  FlightVerifier helped_member_{{.channel = k_channel}, key_.public_key(), helper_, random_};
  TimedSource timed_{k_channel, schedule_, chain_};
  TimedVerifier timed_member_{
      {.channel = k_channel, .schedule = schedule_, .known_key = chain_.commitment()},
      clock_,
      random_};
  PacketSigner signer_{k_channel, key_};
  PacketSignatureVerifier signer_member_{k_channel, key_.public_key()};
  std::vector<std::unique_ptr<ReceiverTagger>> taggers_;
  std::vector<std::unique_ptr<TagVerifier>> tag_members_;
  std::vector<Scheme> schemes_;
  std::vector<std::unique_ptr<StreamScheme>> streams_ = make_streams();
  Side seal_side_;
  Side open_side_;

  std::vector<std::unique_ptr<StreamScheme>> make_streams() {
    std::vector<std::unique_ptr<StreamScheme>> streams;
    for (const std::size_t length : {1, 10, 100, 1000}) {
      streams.push_back(std::make_unique<StreamScheme>(length, key_));
    }
    return streams;
  }
};

}  // namespace

int main(int argument_count, char** arguments) {
  const int rounds = argument_count > 1 ? std::atoi(arguments[1]) : 30;
  std::vector<std::size_t> receivers;
  for (int i = 2; i < argument_count; ++i) {
    receivers.push_back(static_cast<std::size_t>(std::atoi(arguments[i])));
  }
  if (receivers.empty()) receivers = {1, 10, 40};
  if (rounds < 1 || rounds > 2000) fail("1 to 2000 rounds");
  Bench bench(receivers);
  for (int round = 0; round < rounds; ++round) bench.round(round);
  bench.print();
}
