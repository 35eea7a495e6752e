#pragma once

#include <algorithm>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "channel_authentication/flight_source.h"
#include "sim/channel/member_host.h"
#include "sim/channel/shared_ciphers.h"
#include "sim/channel/source_host.h"
#include "sim/simulation.h"

namespace sheaf::quic::multicast_bench {

// A part of the tree that carries nothing for a time
struct TreeCut {
  bool root = false;
  std::size_t branch = 0;
  Duration at{};  // since the first frame that counts
  Duration length{};
};

struct TreeSetting {
  std::size_t receivers = 20;
  std::size_t branches = 4;
  double mbps = 10;
  Duration frame_interval = 33ms;
  Duration counted = 10s;
  std::size_t lossy_receivers = SIZE_MAX;  // so many have the losses of leaves and unicast
  double root_loss = 0, branch_loss = 0, leaf_loss = 0, unicast_loss = 0;
  std::vector<Duration> buffers{100ms};  // frames that are complete later are late
  double uplink_mbps = 0;                // of the source; 0: no limit
  double rate_factor = 1.5;              // rate of the channel, in rates of the video
  Duration report_interval = 20ms;
  Duration deadline = 350ms;
  bool repairs = true;
  bool is_signed = false;
  bool by_unicast = false;         // copies alone, without a tree
  bool first_branch_only = false;  // no other one loses packets
  double budget_mbps = 100;        // of copies by unicast
  std::vector<TreeCut> cuts{};
};

// How much later frames are complete than the earliest of the same receiver
struct Lateness {
  Duration mean{}, median{}, p95{}, p99{}, longest{};
};

struct TreeResult {
  std::uint64_t digest = 0;
  std::uint64_t frames = 0;              // published while it counted
  std::uint64_t due = 0;                 // frames for all receivers
  std::vector<std::uint64_t> on_time{};  // of them, for each buffer
  std::uint64_t completed = 0;           // frames at all receivers, while it counted
  Lateness lateness{};
  std::uint64_t lost = 0;          // packets, of all receivers
  std::uint64_t loss_reports = 0;  // that named a missing packet
  std::uint64_t from_group = 0, from_unicast = 0, recovered = 0, expired = 0;
  std::uint64_t group_bytes = 0, copied_bytes = 0, repairs = 0, repair_bytes = 0;
  std::uint64_t opened = 0;      // packets, by the cryptographic library
  std::uint64_t shared = 0;      // openings of the same bytes at other receivers
  double peak_unicast_mbps = 0;  // in 100 ms
  // From the first cut to the last frame that was late for somebody, with the first buffer
  Duration recovery{};
};

// A source, a tree of depth two and its receivers, in virtual time. The source publishes frames of
// a video, each as a group of its own.
class TreeWorld {
 public:
  TreeWorld(const TreeSetting& setting, std::uint64_t seed)
      : setting_(setting),
        simulation_(seed),
        authenticator_(make_authenticator(setting)),
        source_(make_config(setting), *authenticator_, simulation_.random()),
        frame_(
            static_cast<std::size_t>(setting.mbps * 125'000 * to_seconds(setting.frame_interval)),
            0x5a) {
    simulation_.add_host("source", source_);
    if (setting.uplink_mbps > 0) uplink_ = simulation_.add_trunk({.rate = uplink_rate()});
    const ChannelOffer& offer = source_.source().offer();
    if (!setting.by_unicast) {
      root_ = &simulation_.add_tree({"source", offer.source}, offer.group, "", root_link(false));
      for (std::size_t i = 0; i < setting.branches; ++i) {
        branches_.push_back(&simulation_.add_branch(*root_, "", branch_link(i, false)));
      }
    }
    members_.reserve(setting.receivers);
    for (std::size_t i = 0; i < setting.receivers; ++i) add_member(i);
  }

  TreeResult run() {
    publish_for(k_warm_up);
    const TreeResult before = totals();
    first_counted_ = published_.size();
    start_ = simulation_.now();
    for (const TreeCut& cut : setting_.cuts) schedule(cut);
    watch_unicast();
    publish_for(setting_.counted);
    const std::size_t last = published_.size();
    publish_for(setting_.deadline +
                k_cool_down);  // so that the last frames that count are not idle
    return result(before, last);
  }

 private:
  static constexpr ChannelId k_id{0xc0, 1, 2, 3, 4, 5, 6, 8};
  static constexpr Duration k_warm_up = 1100ms;  // until receivers know how many they are
  static constexpr Duration k_cool_down = 200ms;
  static constexpr Duration k_link_delay = 3ms;
  static constexpr Duration k_unicast_delay = 9ms;
  static constexpr Duration k_watch_interval = 100ms;

  static Address address(std::array<std::uint8_t, 4> ip, std::uint16_t port) {
    Address made{.port = port, .family = Address::Family::kIpv4};
    std::ranges::copy(ip, made.ip.begin());
    return made;
  }

  static SourceConfig make_config(const TreeSetting& setting) {
    SourceConfig config;
    ChannelOffer& offer = config.offer;
    offer.channel = k_id;
    offer.source = address({10, 1, 2, 3}, 4433);
    if (!setting.by_unicast) offer.group = address({232, 7, 8, 9}, 5004);
    offer.header.length = 32;
    offer.header.bytes.fill(0x11);
    offer.packet_size = 1350;
    offer.max_rate = static_cast<std::uint64_t>(setting.mbps * 125'000 * setting.rate_factor);
    // Twice what the deadline needs
    const double packets = setting.mbps * 125'000 / 1350 * to_seconds(setting.deadline);
    offer.reach = static_cast<std::uint32_t>(2 * packets) + 128;
    offer.deadline = setting.deadline;
    offer.report_interval = setting.report_interval;
    offer.repairs = setting.repairs;
    config.copy_rate = static_cast<std::uint64_t>(setting.budget_mbps * 125'000);
    config.key_interval = 1h;
    return config;
  }
  std::unique_ptr<Authenticator> make_authenticator(const TreeSetting& setting) {
    if (!setting.is_signed) return std::make_unique<NoAuthenticator>();
    return std::make_unique<FlightSource>(FlightConfig{.channel = k_id}, key_, runner_);
  }

  LinkConfig root_link(bool down) const {
    return {.down = down, .rate = uplink_rate(), .loss = setting_.root_loss, .delay = k_link_delay};
  }
  std::uint64_t uplink_rate() const {
    return static_cast<std::uint64_t>(setting_.uplink_mbps * 125'000);
  }
  LinkConfig branch_link(std::size_t index, bool down) const {
    const bool loses = index == 0 || !setting_.first_branch_only;
    return {.down = down, .loss = loses ? setting_.branch_loss : 0, .delay = k_link_delay};
  }

  void add_member(std::size_t index) {
    const auto pair = [&](std::uint16_t port) {
      return AddressPair{
          address({10, 1, 2, 3}, port),
          address({10, 2, static_cast<std::uint8_t>(index >> 8), static_cast<std::uint8_t>(index)},
                  port)};
    };
    const RequestAddresses at_source{pair(1), pair(2)};
    const RequestAddresses at_member{{at_source.reliable.remote, at_source.reliable.local},
                                     {at_source.lossy.remote, at_source.lossy.local}};
    const bool loses = index < setting_.lossy_receivers;
    const std::string name = "member" + std::to_string(index);
    auto& member = members_.emplace_back(std::make_unique<MemberHost>(
        at_member, runner_, simulation_.random(), ChannelWay::kSource,
        [this, index](const GroupEvent& event, Bytes, Time now) { note(index, event, now); },
        ciphers_));
    completed_.emplace_back();
    simulation_.add_host(name, *member);
    connect(name, at_member.reliable, {.delay = k_unicast_delay});
    connect(name, at_member.lossy,
            {.loss = loses ? setting_.unicast_loss : 0, .delay = k_unicast_delay});
    if (!setting_.by_unicast) {
      simulation_.add_branch(*branches_[index % branches_.size()], name,
                             {.loss = loses ? setting_.leaf_loss : 0, .delay = k_link_delay});
    }
    source_.accept(at_source, simulation_.now());
  }

  void connect(const std::string& name, const AddressPair& at_member, const LinkConfig& link) {
    const NetworkPath& path =
        simulation_.connect({name, at_member.local}, {"source", at_member.remote}, link);
    if (uplink_) simulation_.lead_through(path, *uplink_);
  }

  void publish_for(Duration duration) {
    for (Duration at{}; at < duration; at += setting_.frame_interval) {
      simulation_.after(at, [this] { publish(); });
    }
    simulation_.run_for(duration);
  }
  void publish() {
    const auto group = source_.source().open_group();
    // A source that fell behind leaves the frame out; it counts as late for everybody.
    published_.push_back(simulation_.now());
    if (!group) return;
    frame_of_group_.push_back(published_.size() - 1);
    source_.source().write(*group, frame_, true);
  }
  void note(std::size_t member, const GroupEvent& event, Time now) {
    if (event.kind != GroupEvent::Kind::kEnded) return;
    std::vector<Time>& completed = completed_[member];
    completed.resize(published_.size(), k_never);
    completed[frame_of_group_[event.group.index()]] = now;
  }

  void schedule(const TreeCut& cut) {
    simulation_.after(cut.at, [this, cut] { change(cut, true); });
    simulation_.after(cut.at + cut.length, [this, cut] { change(cut, false); });
  }
  void change(const TreeCut& cut, bool down) {
    if (setting_.by_unicast) return;  // there is nothing to cut
    const Time now = simulation_.now();
    if (cut.root) {
      root_->there.change(root_link(down), now);
    } else {
      const std::size_t index = cut.branch % branches_.size();
      branches_[index]->there.change(branch_link(index, down), now);
    }
  }

  void watch_unicast() {
    copied_before_ = source_.copied_bytes();
    for (Duration at = k_watch_interval; at <= setting_.counted; at += k_watch_interval) {
      simulation_.after(at, [this] {
        const auto bytes = static_cast<double>(source_.copied_bytes() - copied_before_);
        peak_mbps_ = std::max(peak_mbps_, bytes / 125'000 / to_seconds(k_watch_interval));
        copied_before_ = source_.copied_bytes();
      });
    }
  }

  TreeResult totals() {
    TreeResult sum;
    for (const auto& member : members_) {
      const ReceiverCounts& counts = member->receiver().counts();
      sum.lost += counts.lost;
      sum.from_group += counts.from_group;
      sum.from_unicast += counts.from_unicast;
      sum.recovered += counts.recovered;
      sum.expired += counts.expired;
      sum.loss_reports += member->loss_reports();
    }
    sum.group_bytes = source_.group_bytes();
    sum.copied_bytes = source_.copied_bytes();
    sum.repairs = source_.source().repair_counts().repairs;
    sum.repair_bytes = source_.source().repair_counts().bytes;
    return sum;
  }

  TreeResult result(const TreeResult& before, std::size_t last) {
    TreeResult made = totals();
    made.lost -= before.lost;
    made.from_group -= before.from_group;
    made.from_unicast -= before.from_unicast;
    made.recovered -= before.recovered;
    made.expired -= before.expired;
    made.loss_reports -= before.loss_reports;
    made.group_bytes -= before.group_bytes;
    made.copied_bytes -= before.copied_bytes;
    made.repairs -= before.repairs;
    made.repair_bytes -= before.repair_bytes;
    made.digest = simulation_.digest();
    made.opened = ciphers_.opened();
    made.shared = ciphers_.copied();
    made.peak_unicast_mbps = peak_mbps_;
    made.frames = last - first_counted_;
    made.due = made.frames * setting_.receivers;
    made.on_time.resize(setting_.buffers.size());
    std::vector<Duration> late;
    for (std::vector<Time>& completed : completed_) {
      completed.resize(published_.size(), k_never);
      count(completed, last, made, late);
    }
    made.lateness = lateness(late);
    return made;
  }

  // Adds the frames of one receiver.
  void count(const std::vector<Time>& completed, std::size_t last, TreeResult& sum,
             std::vector<Duration>& late) const {
    const std::size_t first = late.size();
    Duration earliest = Duration::max();
    for (std::size_t i = 0; i < completed.size(); ++i) {
      const Time when = completed[i];
      if (when >= start_ && when < start_ + setting_.counted) ++sum.completed;
      if (i < first_counted_ || i >= last) continue;
      for (std::size_t buffer = 0; buffer < setting_.buffers.size(); ++buffer) {
        if (when <= published_[i] + setting_.buffers[buffer]) {
          ++sum.on_time[buffer];
        } else if (buffer == 0 && !setting_.cuts.empty()) {
          const Duration since = published_[i] - start_ - setting_.cuts.front().at;
          sum.recovery = std::max(sum.recovery, since);
        }
      }
      if (when == k_never) continue;
      late.push_back(when - published_[i]);
      earliest = std::min(earliest, late.back());
    }
    for (std::size_t i = first; i < late.size(); ++i) late[i] -= earliest;
  }

  static Lateness lateness(std::vector<Duration>& late) {
    if (late.empty()) return {};
    std::ranges::sort(late);
    const auto at = [&](double share) {
      return late[static_cast<std::size_t>(share * static_cast<double>(late.size() - 1))];
    };
    const Duration sum = std::accumulate(late.begin(), late.end(), Duration{});
    return {.mean = sum / static_cast<std::int64_t>(late.size()),
            .median = at(0.5),
            .p95 = at(0.95),
            .p99 = at(0.99),
            .longest = late.back()};
  }

  TreeSetting setting_;
  Simulation simulation_;
  SigningKey key_{Ed25519Seed{3}};
  InlineRunner runner_;
  SharedCiphers ciphers_;
  std::unique_ptr<Authenticator> authenticator_;
  SourceHost source_;
  std::vector<std::uint8_t> frame_;
  NetworkPath* root_ = nullptr;
  std::vector<NetworkPath*> branches_;
  std::vector<std::unique_ptr<MemberHost>> members_;
  std::optional<std::size_t> uplink_;  // a trunk
  std::vector<Time> published_;        // of each frame
  std::vector<std::size_t> frame_of_group_;
  std::vector<std::vector<Time>> completed_;  // of each member, by the frame
  std::size_t first_counted_ = 0;
  Time start_{};
  std::uint64_t copied_before_ = 0;
  double peak_mbps_ = 0;
};

}  // namespace sheaf::quic::multicast_bench
