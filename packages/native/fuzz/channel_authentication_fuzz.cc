#include <algorithm>
#include <cstdlib>
#include <map>
#include <vector>

#include "channel_authentication/flight_source.h"
#include "channel_authentication/flight_verifier.h"
#include "channel_authentication/receiver_tags.h"
#include "channel_authentication/timed_source.h"
#include "channel_authentication/timed_verifier.h"
#include "crypto/channel_open_keys.h"

namespace {

using namespace sheaf::quic;

constexpr ChannelId k_channel{1, 2, 3, 4, 5, 6, 7, 8};
constexpr Time k_begin{std::chrono::hours(1)};

void check(bool holds) {
  if (!holds) std::abort();
}

TrafficSecret secret_of(std::uint8_t value) {
  TrafficSecret secret;
  secret.length = 32;
  secret.bytes.fill(value);
  return secret;
}

// The source of a channel, and members of each scheme. The input says which packets the source
// sends, what of them and of its frames arrives, and what other members send in between. Checks
// that what is proven was sent by the source with the same number and bytes, and that frames that
// decode are encoded again to what decodes.
class Members {
 public:
  explicit Members(Bytes input) : in_(input) {
    clock_.on_answer(k_begin, k_begin);
    tagger_.add_receiver(7, MacKey{7});
    check(keys_.add({.sequence = 0, .first_number = 0, .secret = secret_of(1)}, k_begin) ==
          ChannelOpenKeys::Added::kAdded);
  }

  void run() {
    while (!in_.empty()) {
      step(in_.read_u8() % 8);
      for (std::size_t i = 0; i < members_.size(); ++i) take_proven(i);
    }
  }

 private:
  void step(int which) {
    if (which == 0) return send();
    if (which == 1) return arrive();
    if (which == 2) return forge_packet();
    if (which == 3) return forge_frame();
    if (which == 4) return pass_time();
    if (which == 5) return frames_arrive();
    if (which == 7) return ask_for_time();
    open_packet();
  }

  void send() {
    const PacketNumber number = sent_[0].size();
    const std::uint8_t content = in_.read_u8();
    for (std::size_t i = 0; i < sources_.size(); ++i) {
      auto& bytes = sent_[i][number];
      bytes.assign(20 + sources_[i]->trailer_length(), content);
      const SealedPacket sealed{.number = number, .key_sequence = 0, .datagram = bytes};
      sources_[i]->add({&sealed, 1}, now_);
    }
  }
  void arrive() {
    const PacketNumber number = in_.read_u8();
    for (std::size_t i = 0; i < members_.size(); ++i) {
      const auto found = sent_[i].find(number);
      if (found != sent_[i].end()) give(i, number, 0, found->second);
    }
  }
  void forge_packet() {
    const PacketNumber number = in_.read_varint();
    const std::uint64_t key_sequence = in_.read_u8() & 1;
    const Bytes bytes = in_.read_bytes(std::min<std::size_t>(in_.read_u8(), in_.remaining()));
    for (std::size_t i = 0; i < members_.size(); ++i) give(i, number, key_sequence, bytes);
  }
  void give(std::size_t member, PacketNumber number, std::uint64_t key_sequence, Bytes bytes) {
    const ReceivedPacket packet{number, key_sequence, bytes};
    if (members_[member]->on_packet(packet, now_) == Verdict::kProven) {
      check_proven(member, number, key_sequence, bytes);
    }
  }
  void forge_frame() {
    Reader reader(in_.read_bytes(std::min<std::size_t>(in_.read_u16(), in_.remaining())));
    const auto frame = decode_integrity_frame(reader);
    if (!frame) return;
    std::vector<std::uint8_t> room(8000);
    room.resize(encode_integrity_frame(*frame, room));
    Reader again(room);
    check(decode_integrity_frame(again) && again.empty());
    for (Verifier* member : members_) member->on_frame(*frame, FrameOrigin::kChannel, now_);
  }
  void pass_time() {
    now_ += 1ms * in_.read_u8();
    for (Authenticator* source : sources_) source->on_timeout(now_);
    for (Verifier* member : members_) member->on_timeout(now_);
  }
  // After up to a minute, so that chains of keys follow one another
  void ask_for_time() {
    now_ += 250ms * in_.read_u8();
    const auto clock = timed_source_.clock(now_);
    clock_.on_answer(now_, clock->time);
    timed_.on_clock(*clock);
  }
  // Frames of the source, of which a bit of the input says whether each arrives
  void frames_arrive() {
    std::vector<std::uint8_t> room(1200);
    for (std::size_t i = 0; i < sources_.size(); ++i) {
      while (const std::size_t length = sources_[i]->write_frame(room, now_)) {
        Reader reader(Bytes(room).first(length));
        const auto frame = decode_integrity_frame(reader);
        check(frame.has_value());
        if ((in_.read_u8() & 1) == 0) continue;
        members_[i]->on_frame(*frame, FrameOrigin::kChannel, now_);
      }
    }
  }
  // Nobody has the keys of this channel's packets but the source here.
  void open_packet() {
    const Bytes packet = in_.read_bytes(std::min<std::size_t>(in_.read_u8(), in_.remaining()));
    const auto header = keys_.read_header(packet);
    if (!header) return;
    std::vector<std::uint8_t> payload(packet.size());
    check(keys_.open(*header, packet, ChannelOpenKeys::Origin::kUnproven, now_, payload.data()) !=
          ChannelOpenKeys::Outcome::kOpened);
  }

  void take_proven(std::size_t member) {
    while (const auto proven = members_[member]->next_proven()) {
      check_proven(member, proven->number, proven->key_sequence, proven->sealed);
    }
  }
  void check_proven(std::size_t member, PacketNumber number, std::uint64_t key_sequence,
                    Bytes bytes) {
    const auto found = sent_[member].find(number);
    check(found != sent_[member].end() && bytes.size() >= 20);
    check(std::equal(bytes.begin(), bytes.begin() + 20, found->second.begin()));
    check(key_sequence == 0 || member != 0);  // hashes bind the key, tags only the number
  }

  Reader in_;
  Time now_ = k_begin;
  SeededRandom random_{1};
  InlineRunner runner_;
  SigningKey key_{Ed25519Seed{1}};
  static inline KeyChain chain_{k_channel, ChainKey{5}};  // costs much, so all inputs share it
  ClockBound clock_;
  TimedSchedule schedule_{.start = k_begin, .interval = 50ms, .delay = 2};
  FlightSource flight_source_{
      {.channel = k_channel, .max_frame = 200, .max_packets = 64}, key_, runner_};
  TimedSource timed_source_{k_channel, schedule_, chain_};
  ReceiverTagger tagger_;
  FlightVerifier flights_{{.channel = k_channel, .max_datagram = 300, .max_bytes = 9000},
                          key_.public_key(),
                          runner_,
                          random_};
  TimedVerifier timed_{{.channel = k_channel,
                        .schedule = schedule_,
                        .known_key = chain_.commitment(),
                        .max_datagram = 300,
                        .max_bytes = 9000},
                       clock_,
                       random_};
  TagVerifier tags_{{.receiver = 7, .key = MacKey{7}, .max_datagram = 300, .max_bytes = 9000},
                    random_};
  ChannelOpenKeys keys_{secret_of(9)};
  std::array<Authenticator*, 3> sources_{&flight_source_, &timed_source_, &tagger_};
  std::array<Verifier*, 3> members_{&flights_, &timed_, &tags_};
  std::array<std::map<PacketNumber, std::vector<std::uint8_t>>, 3> sent_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 4096) return 0;
  Members(Bytes(data, size)).run();
  return 0;
}
