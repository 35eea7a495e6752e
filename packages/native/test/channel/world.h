#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>

#include "channel/forger.h"
#include "channel/messages.h"
#include "channel/own_clock.h"
#include "channel/skewed_clock.h"
#include "channel_authentication/flight_source.h"
#include "channel_authentication/timed_source.h"
#include "sim/channel/member_host.h"
#include "sim/channel/source_host.h"
#include "sim/pattern.h"
#include "sim/simulation.h"

namespace sheaf::quic {

// A source, a tree of depth two, and members with a request each, in virtual time. The source
// publishes frames: each is a group of its own. Members note when each frame was complete.
class ChannelWorld {
 public:
  struct Settings {
    std::uint64_t seed = 1;
    std::size_t branches = 3;
    double root_loss = 0;
    double branch_loss = 0;
    double leaf_loss = 0;
    double unicast_loss = 0;
    Duration key_interval = 1s;
    std::uint64_t max_rate = 1'250'000;
    std::uint64_t slowest_rate = 0;
    Duration deadline = 350ms;
    AuthenticationScheme scheme = AuthenticationScheme::kNone;
    ChannelWay copies = ChannelWay::kSource;
    bool repairs = false;
    std::uint16_t report_share = 0x8000;
    std::uint32_t reach = 2000;
    Duration report_interval = 100ms;
    std::uint64_t copy_rate = 12'500'000;
    Duration unicast_delay = 9ms;              // of datagrams, each way
    ClockSkew skew{};                          // of the scheme `timed`
    TimedSchedule schedule{.interval = 30ms};  // of it, from the begin
  };
  struct Member {
    std::string name;
    std::unique_ptr<MemberHost> host;
    std::unique_ptr<OwnClock> clock;  // of the host
    RequestAddresses request;         // as the source names them
    NetworkPath* leaf = nullptr;
    NetworkPath* datagrams = nullptr;              // those of the request
    std::map<std::uint64_t, std::uint64_t> sizes;  // bytes in order, by the frame
    std::map<std::uint64_t, Time> complete;
    std::uint64_t expired = 0;
    bool wrong_bytes = false;
  };

  explicit ChannelWorld(const Settings& settings)
      : settings_(settings),
        simulation_(settings.seed),
        authenticator_(make_authenticator(settings.scheme)),
        source_(config(settings), *authenticator_, simulation_.random()),
        trace_(__FILE__, __LINE__, "seed " + std::to_string(settings.seed)) {
    simulation_.add_host("source", source_);
    const ChannelOffer& offer = source_.source().offer();
    root_ = &simulation_.add_tree({"source", offer.source}, offer.group, "",
                                  {.loss = settings.root_loss, .delay = 3ms});
    for (std::size_t i = 0; i < settings.branches; ++i) {
      const LinkConfig branch{.loss = settings.branch_loss, .delay = 3ms};
      branches_.push_back(&simulation_.add_branch(*root_, "", branch));
    }
  }

  // Adds a member on one of the branches, which asks to join now.
  Member& add_member() {
    const std::size_t number = members_.size() + 1;
    Member& member = *members_.emplace_back(std::make_unique<Member>());
    member.name = "member" + std::to_string(number);
    const auto pair = [&](std::uint16_t port) {
      return AddressPair{channel_address({10, 1, 2, 3}, port),
                         channel_address({10, 2, static_cast<std::uint8_t>(number >> 8),
                                          static_cast<std::uint8_t>(number)},
                                         port)};
    };
    const RequestAddresses at_source{pair(1), pair(2)};
    member.request = at_source;
    const RequestAddresses at_member{{at_source.reliable.remote, at_source.reliable.local},
                                     {at_source.lossy.remote, at_source.lossy.local}};
    member.host =
        std::make_unique<MemberHost>(at_member, runner_, simulation_.random(), settings_.copies,
                                     [&](const GroupEvent& event, Bytes bytes, Time) {
                                       note(member, event, bytes, simulation_.now());
                                     });
    member.clock = std::make_unique<OwnClock>(*member.host);
    simulation_.add_host(member.name, *member.clock);
    const auto node = [](const char* host, const Address& address) {
      return NetworkNode{host, address};
    };
    simulation_.connect(node(member.name.c_str(), at_member.reliable.local),
                        node("source", at_member.reliable.remote), {.delay = 9ms});
    member.datagrams = &simulation_.connect(
        node(member.name.c_str(), at_member.lossy.local), node("source", at_member.lossy.remote),
        {.loss = settings_.unicast_loss, .delay = settings_.unicast_delay});
    member.leaf = &simulation_.add_branch(*branches_[members_.size() % branches_.size()],
                                          member.name, leaf_link());
    if (forged_ != nullptr) simulation_.add_branch(*forged_, member.name, {.delay = 1ms});
    source_.accept(at_source, simulation_.now());
    return member;
  }

  // Ends the request of a member. The network goes on delivering the group to it.
  void remove_member(std::size_t index) {
    source_.remove(members_[index]->request, simulation_.now());
  }
  // A member that was removed asks again. Returns false when it is refused.
  bool join_again(std::size_t index) {
    return source_.accept(members_[index]->request, simulation_.now());
  }

  // A member has another address from now on, which the source knows after a round trip. Datagrams
  // to the old one are lost.
  void move_member(std::size_t index) {
    const Member& member = *members_[index];
    Address moved = member.datagrams->translated;
    ++moved.port;
    simulation_.rebind(*member.datagrams, moved);
    simulation_.after(18ms, [this, &member, moved] { source_.move(member.request, moved); });
  }

  // Adds a member that forges, near the others.
  ForgerHost& add_forger() {
    const AddressPair path{channel_address({10, 66, 6, 6}, 4433), source_.source().offer().group};
    forger_ = std::make_unique<ForgerHost>(source_, path, simulation_.random());
    if (settings_.scheme == AuthenticationScheme::kTimed) {
      forger_->set_trailer([this](auto& packet, PacketNumber number, Time now) {
        add_trailer(packet, number, now);
      });
    }
    simulation_.add_host("forger", *forger_);
    forged_ = &simulation_.add_tree({"forger", path.local}, path.remote, "", {.delay = 1ms});
    for (const auto& member : members_) {
      simulation_.add_branch(*forged_, member->name, {.delay = 1ms});
    }
    return *forger_;
  }

  // Publishes a frame of this size every 33 ms for a time, beginning now.
  void publish_for(Duration duration, std::size_t bytes) {
    for (Duration at{}; at < duration; at += 33ms) {
      simulation_.after(at, [this, bytes] { publish(bytes); });
    }
    simulation_.run_for(duration);
  }

  // Returns how many of the frames that were published from `from` on, and before `until`, a member
  // did not have in time.
  std::size_t late_frames(const Member& member, Time from, Time until = k_never) const {
    std::size_t late = 0;
    for (const auto& [frame, published] : published_) {
      if (published < from || published >= until) continue;
      const auto complete = member.complete.find(frame);
      if (complete == member.complete.end() || complete->second > published + settings_.deadline) {
        ++late;
      }
    }
    return late;
  }
  bool has_frame(const Member& member, std::uint64_t frame) const {
    return member.complete.contains(frame);
  }

  LinkConfig leaf_link() const { return {.loss = settings_.leaf_loss, .delay = 3ms}; }
  Simulation& simulation() { return simulation_; }
  SourceHost& source() { return source_; }
  NetworkPath& branch(std::size_t index) { return *branches_[index]; }
  const std::vector<std::unique_ptr<Member>>& members() const { return members_; }
  std::uint64_t frames() const { return published_.size(); }
  // The sequence of the key that a receiver gets first which joins now
  std::uint64_t key_sequence() {
    const auto id = source_.source().add_receiver();
    const auto key = source_.source().poll_key(*id);
    source_.source().remove_receiver(*id);
    return key->sequence;
  }

 private:
  static SourceConfig config(const Settings& settings) {
    SourceConfig config{.offer = example_offer(),
                        .key_interval = settings.key_interval,
                        .new_key_on_leaving = true};
    config.copy_rate = settings.copy_rate;
    config.slowest_rate = settings.slowest_rate;
    config.offer.max_rate = settings.max_rate;
    config.offer.deadline = settings.deadline;
    config.offer.repairs = settings.repairs;
    config.offer.report_share = settings.report_share;
    config.offer.reach = settings.reach;
    config.offer.report_interval = settings.report_interval;
    return config;
  }

  std::unique_ptr<Authenticator> make_authenticator(AuthenticationScheme scheme) {
    switch (scheme) {
      case AuthenticationScheme::kSigned:
        return std::make_unique<FlightSource>(FlightConfig{.channel = k_test_channel}, key_,
                                              runner_);
      case AuthenticationScheme::kTimed:
        schedule_ = settings_.schedule;
        schedule_.start = settings_.skew.shown_at(simulation_.now());
        return std::make_unique<SkewedAuthenticator>(
            std::make_unique<TimedSource>(k_test_channel, schedule_, chain_), settings_.skew);
      default:
        return std::make_unique<NoAuthenticator>();
    }
  }

  // Writes the trailer of `timed` as whoever heard all that is disclosed.
  void add_trailer(std::vector<std::uint8_t>& packet, PacketNumber number, Time now) {
    const std::uint32_t present = schedule_.interval_at(settings_.skew.shown_at(now));
    const std::uint64_t back = schedule_.delay + simulation_.random().below(3);
    if (present <= back) return;
    const std::uint32_t interval = present - static_cast<std::uint32_t>(back);
    const std::size_t sealed = packet.size();
    packet.resize(sealed + k_timed_trailer_length);
    store(packet.data() + sealed, interval);
    const auto mac = make_packet_mac();
    mac->set_key(mac_key_of(k_test_channel, chain_.key(interval)));
    const PacketTag tag = mac->tag(Bytes(packet).first(sealed + 4), number);
    std::ranges::copy(tag, packet.end() - k_aead_tag_length);
  }

  void publish(std::size_t bytes) {
    const StreamId group = *source_.source().open_group();
    bool ended = false;
    for (std::size_t at = 0; at < bytes;) {
      const Bytes part = pattern_from(group.index() + at, bytes - at);
      at += part.size();
      const auto written = source_.source().write(group, part, at == bytes);
      ASSERT_EQ(written.bytes, part.size());
      ended = written.fin;
    }
    EXPECT_TRUE(ended);
    published_[group.index()] = simulation_.now();
  }

  static void note(Member& member, const GroupEvent& event, Bytes bytes, Time now) {
    const std::uint64_t frame = event.group.index();
    std::uint64_t& size = member.sizes[frame];
    if (!matches_pattern(bytes, frame + size)) member.wrong_bytes = true;
    size += bytes.size();
    if (event.kind == GroupEvent::Kind::kEnded) member.complete[frame] = now;
    if (event.kind == GroupEvent::Kind::kExpired) ++member.expired;
  }

  Settings settings_;
  Simulation simulation_;
  SigningKey key_{Ed25519Seed{3}};
  KeyChain chain_{k_test_channel, ChainKey{4}};
  TimedSchedule schedule_;
  InlineRunner runner_;
  std::unique_ptr<Authenticator> authenticator_;
  SourceHost source_;
  NetworkPath* root_ = nullptr;
  std::vector<NetworkPath*> branches_;
  std::unique_ptr<ForgerHost> forger_;
  NetworkPath* forged_ = nullptr;
  std::vector<std::unique_ptr<Member>> members_;
  std::map<std::uint64_t, Time> published_;
  ::testing::ScopedTrace trace_;
};

}  // namespace sheaf::quic
