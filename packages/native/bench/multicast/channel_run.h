#pragma once

#include <algorithm>
#include <array>
#include <deque>
#include <vector>

#include "channel/receiver.h"
#include "channel/source.h"
#include "multicast/schemes.h"

namespace sheaf::quic::multicast_bench {

// Adds the processor time of this thread that `work` takes to `total`.
template <typename Work>
void count_time(double& total, Work work) {
  const double start = thread_nanoseconds();
  work();
  total += thread_nanoseconds() - start;
}

struct ChannelSetting {
  std::string authentication;
  std::size_t receivers = 1;
  std::uint32_t window = 2000;    // packets that source and receivers keep
  std::size_t loss_distance = 0;  // one packet of so many is lost; 0: none
  std::size_t object_bytes = 0;   // of each group
};

// What a round took on both sides, in nanoseconds. Times of reports are apart.
struct ChannelSample {
  double source = 0, source_reports = 0, source_helper = 0;
  double receiver = 0, receiver_reports = 0, receiver_helper = 0;
  std::uint64_t bytes = 0;    // that were written
  std::uint64_t read = 0;     // by the receiver
  std::uint64_t packets = 0;  // of the log, proofs included
  std::uint64_t recovered = 0, repairs = 0;
};

// A source and one receiver of a channel in memory, where virtual time passes at 100 Mbit/s. The
// other receivers are what they say: the source hears their states and reports. The second one
// loses what the first one loses, so that losses are repaired and not copied.
class ChannelRun {
 public:
  ChannelRun(const ChannelSetting& setting, Random& random)
      : setting_(setting),
        random_(random),
        scheme_(setting.authentication, setting.receivers, k_start, random),
        source_({.offer = make_offer()}, scheme_.authenticator(), random),
        receiver_(source_.offer_at(k_start), scheme_.verifier(), random, k_start),
        data_(k_batch_bytes, 0x5a) {
    for (std::size_t i = 0; i < setting_.receivers; ++i)
      members_.push_back({*source_.add_receiver()});
    give_keys();
    receiver_.on_joined();
  }

  ChannelSample round(std::uint64_t bytes) {
    ChannelSample sample;
    scheme_.confirm_clock(now_);
    const Scheme::HelperTimes before = scheme_.finish_helpers();
    const std::uint64_t recovered = receiver_.counts().recovered;
    const std::uint64_t packets = source_.counts().packets;
    const std::uint64_t repairs = source_.repair_counts().repairs;
    while (sample.bytes < bytes) batch(sample);
    const Scheme::HelperTimes after = scheme_.finish_helpers();
    sample.source_helper = after.source - before.source;
    sample.receiver_helper = after.receiver - before.receiver;
    sample.packets = source_.counts().packets - packets;
    sample.recovered = receiver_.counts().recovered - recovered;
    sample.repairs = source_.repair_counts().repairs - repairs;
    unread_ += sample.bytes - sample.read;
    check();
    return sample;
  }

 private:
  static constexpr Time k_start{std::chrono::hours(1)};
  static constexpr std::size_t k_batch_bytes = 42'000;  // fill most of 32 packets
  static constexpr std::size_t k_read_every = 32;       // packets, since few groups may be open
  static constexpr Duration k_packet_time = 108us;
  static constexpr Duration k_report_interval = 100ms;
  // Repairs have to come before a window of 100 packets has passed, which takes 11 ms.
  static constexpr Duration k_lossy_report_interval = 2ms;
  static constexpr int k_quiet_intervals = 10;
  // What may wait for its proof, which takes up to 150 ms
  static constexpr std::uint64_t k_max_unread = 4'000'000;

  struct Member {
    ChannelSource::ReceiverId id;
    Time next_report = k_never;
    std::uint64_t reports = 0;
  };

  bool loses() const { return setting_.loss_distance > 0; }

  ChannelOffer make_offer() {
    ChannelOffer offer;
    offer.channel = k_channel;
    offer.source = engine_bench::loopback(4433);
    offer.group = engine_bench::loopback(5004);  // nothing is sent to it
    offer.header.length = 32;
    random_.fill(MutableBytes(offer.header.bytes).first(offer.header.length));
    offer.packet_size = engine_bench::k_packet_size;
    offer.max_rate = std::uint64_t{1} << 40;  // never binds
    offer.reach = setting_.window;
    offer.deadline = 350ms;
    offer.report_interval = loses() ? k_lossy_report_interval : k_report_interval;
    offer.repairs = loses();
    return offer;
  }

  void batch(ChannelSample& sample) {
    count_time(sample.source, [&] {
      source_.on_timeout(now_);
      sample.bytes += write();
      send();
    });
    count_time(sample.receiver, [&] {
      take_frames();
      std::size_t arrived = 0;
      for (const Bytes packet : arrivals_) {
        now_ += k_packet_time;
        receiver_.receive(packet, ChannelWay::kGroup, now_);
        if (++arrived % k_read_every == 0) sample.read += read();
      }
      receiver_.on_timeout(now_);
      sample.read += read();
    });
    std::optional<ChannelState> state;
    std::optional<ChannelReport> report;
    count_time(sample.receiver_reports, [&] {
      state = receiver_.poll_state();
      report = receiver_.poll_report(now_);
    });
    count_time(sample.source_reports, [&] { hear(state, report); });
    scheme_.finish_helpers();
  }

  // Writes a batch of stream data. Returns its bytes.
  std::size_t write() {
    std::size_t written = 0;
    while (written < k_batch_bytes) {
      if (!group_) {
        group_ = source_.open_group();
        if (!group_) fail("no group can be opened");
        left_ = setting_.object_bytes;
      }
      const std::size_t length = std::min(left_, k_batch_bytes - written);
      const Bytes data = Bytes(data_).first(length);
      const SourceLog::Written taken = source_.write(*group_, data, length == left_);
      if (taken.bytes < length) fail("the log has no room");
      if (auto* signer = scheme_.stream_signer()) sign(*signer, data, taken.fin);
      written += length;
      left_ -= length;
      if (taken.fin) group_.reset();
    }
    return written;
  }
  void sign(StreamSigner& signer, Bytes data, bool fin) {
    if (!signer.update(group_->value, data)) fail("a stream cannot be signed");
    if (!fin) return;
    auto& frame = signatures_.emplace_back();
    frame.length = signer.finish(group_->value, frame.bytes);
  }

  // Takes what the source sends, and loses some of it.
  void send() {
    arrivals_.clear();
    repair_bytes_.clear();
    for (Bytes repair; !(repair = source_.poll_repair(now_)).empty();) {
      auto& kept = repair_bytes_.emplace_back(repair.begin(), repair.end());
      arrivals_.emplace_back(kept);
    }
    for (Bytes packets; !(packets = source_.poll_transmit(48, now_)).empty();) {
      while (!packets.empty()) {
        const Bytes packet = packets.first(std::min(packets.size(), source_.packet_size()));
        packets = packets.subspan(packet.size());
        if (!loses() || !is_lost()) arrivals_.push_back(packet);
      }
    }
  }
  bool is_lost() {
    if (place_ == 0) lost_place_ = random_.below(setting_.loss_distance);
    // What the group brought before its first packet arrives comes by copies, which nobody carries.
    const bool lost = place_ == lost_place_ && begun_;
    begun_ = true;
    place_ = (place_ + 1) % setting_.loss_distance;
    return lost;
  }

  void take_frames() {
    FramesBeside* beside = scheme_.beside();
    if (beside == nullptr) return;
    Reader frames(beside->frames());
    while (const auto frame = decode_integrity_frame(frames)) {
      scheme_.verifier().on_frame(*frame, FrameOrigin::kChannel, now_);
    }
    beside->clear();
  }

  std::uint64_t read() {
    std::uint64_t bytes = 0;
    GroupStreams& groups = receiver_.groups();
    while (const auto event = groups.poll_event()) {
      for (Bytes next; !(next = groups.peek(event->group)).empty();) {
        if (scheme_.stream_signer() != nullptr &&
            !scheme_.stream_verifier().update(event->group.value, next)) {
          fail("a stream cannot be verified");
        }
        bytes += next.size();
        groups.consume(event->group, next.size());
      }
      if (event->kind == GroupEvent::Kind::kExpired) fail("a group expired");
      if (event->kind == GroupEvent::Kind::kEnded && scheme_.stream_signer() != nullptr) verify();
    }
    return bytes;
  }
  // Streams end in their order, since nothing is lost where they are signed.
  void verify() {
    Reader reader(Bytes(signatures_.front().bytes).first(signatures_.front().length));
    const auto frame = decode_integrity_frame(reader);
    if (!frame || !scheme_.stream_verifier().finish(std::get<StreamSignatureFrame>(*frame))) {
      fail("a stream is not proven");
    }
    signatures_.pop_front();
  }

  void hear(const std::optional<ChannelState>& state, const std::optional<ChannelReport>& report) {
    if (state) {
      for (const Member& member : members_) source_.on_state(member.id, *state, now_);
    }
    if (report) {
      say(members_.front(), *report);
      if (loses() && members_.size() > 1) say(members_[1], *report);
      if (last_report_.channel != k_channel) spread_reports();
      last_report_ = *report;
      last_report_.missing = {};
    }
    for (Member& member : members_) {
      if (member.next_report > now_) continue;
      say(member, last_report_);
      member.next_report = now_ + k_quiet_intervals * source_.offer().report_interval;
    }
    give_keys();
  }
  void say(Member& member, ChannelReport report) {
    report.sequence = member.reports++;
    source_.on_report(member.id, report, now_);
  }
  // Those that lose nothing report seldom, each at its own time.
  void spread_reports() {
    for (std::size_t i = loses() ? 2 : 1; i < members_.size(); ++i) {
      const auto part = random_.below(static_cast<std::uint64_t>(
          (k_quiet_intervals * source_.offer().report_interval).count()));
      members_[i].next_report = now_ + Duration(static_cast<std::int64_t>(part));
    }
  }
  void give_keys() {
    while (const auto key = source_.poll_key(members_.front().id)) {
      receiver_.on_key(*key, now_);
      for (std::size_t i = 1; i < members_.size(); ++i) (void)source_.poll_key(members_[i].id);
    }
  }

  void check() const {
    const ReceiverCounts& counts = receiver_.counts();
    if (source_.stopped()) fail("the source has stopped");
    if (counts.forged + counts.refused + counts.malformed + counts.unreadable > 0) {
      fail("the receiver did not take a packet of the source");
    }
    if (counts.expired > 0) fail("packets expired");
    if (unread_ > k_max_unread) fail("the receiver does not get what the source sends");
  }

  ChannelSetting setting_;
  Random& random_;
  Scheme scheme_;
  ChannelSource source_;
  ChannelReceiver receiver_;
  std::vector<std::uint8_t> data_;
  std::vector<Member> members_;
  Time now_ = k_start;
  std::optional<StreamId> group_;
  std::size_t left_ = 0;  // of the open group
  struct Signature {
    std::array<std::uint8_t, 128> bytes;
    std::size_t length = 0;
  };
  std::deque<Signature> signatures_;  // of streams on their way
  std::vector<Bytes> arrivals_;
  std::deque<std::vector<std::uint8_t>> repair_bytes_;
  std::uint64_t unread_ = 0;  // bytes that were written and not read yet
  std::size_t place_ = 0;     // among so many packets as lose one
  std::size_t lost_place_ = 0;
  bool begun_ = false;  // a packet was sent
  ChannelReport last_report_;
};

}  // namespace sheaf::quic::multicast_bench
