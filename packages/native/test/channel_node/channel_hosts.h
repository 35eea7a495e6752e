#pragma once

#include <gtest/gtest.h>

#include <thread>
#include <unordered_map>

#include "channel_node/channel_ends.h"
#include "channel_node/receiver_node.h"
#include "channel_node/source_node.h"
#include "io/two_hosts.h"
#include "switchboard/backbone_pair.h"

namespace sheaf::channel_node {

using switchboard::Node;

inline constexpr const char* k_source = "10.98.0.1";
inline constexpr const char* k_other_source = "10.98.0.3";
inline constexpr const char* k_receiver = "10.98.0.2";
inline constexpr const char* k_group = "232.98.7.2";
inline constexpr std::uint16_t k_group_port = 5499;

// A source on one host and receivers on another, with a cable between them, or all on this host.
// They run on one loop. The channel may be that of another loop.
class ChannelHosts {
 public:
  struct Place {
    io::TwoHosts* hosts = nullptr;  // null: all is on this host
    const char* source = "127.0.0.1";
    const char* receiver = "127.0.0.1";

    void enter(int host) const {
      if (hosts) hosts->enter(host);
    }
  };
  struct Receiver {
    std::unique_ptr<Node> node;
    ChannelEnds ends;
    ReceiverEnd* end = nullptr;
    std::string text;

    bool listens(quic::ListenState state) {
      return end && end->request().receiver() && end->request().receiver()->state() == state;
    }
    quic::ReceiverCounts counts() { return end->request().receiver()->counts(); }
  };

  ChannelHosts(io::TwoHosts& hosts, const SourceSettings& source_settings,
               ReceiverSettings settings, std::size_t receiver_count = 1)
      : ChannelHosts(Place{&hosts, k_source, k_receiver}, source_settings, std::move(settings),
                     receiver_count) {}
  ChannelHosts(const Place& place, const SourceSettings& source_settings, ReceiverSettings settings,
               std::size_t receiver_count)
      : ChannelHosts(place, std::move(settings), receiver_count) {
    auto opened = SourceNode::open(&uv_, source_settings, random_, [this] { write(); });
    EXPECT_TRUE(opened) << opened.error().message;
    begin(place, std::move(*opened));
  }
  ChannelHosts(const Place& place, std::shared_ptr<SourceNode> of_another_loop,
               ReceiverSettings settings, std::size_t receiver_count)
      : ChannelHosts(place, std::move(settings), receiver_count) {
    begin(place, std::move(of_another_loop));
  }
  ~ChannelHosts() {
    at_source_.clear();
    for (Receiver& receiver : receivers) receiver.ends = {};
    channel.reset();
    source_->loop().close({});
    for (Receiver& receiver : receivers) receiver.node->loop().close({});
    uv_run(&uv_, UV_RUN_DEFAULT);
    receivers.clear();
    source_.reset();
    EXPECT_EQ(uv_loop_close(&uv_), 0);
  }

  // Sends bytes as one group, and more of them when there is room.
  void send(std::string text) {
    group_ = *channel->open_group();
    unsent_ = std::move(text);
    write();
  }
  // Returns false after 80 s, within which everything here happens unless it never does.
  template <typename Done>
  bool run_until(Done&& done) {
    const quic::Time late = io::monotonic_now() + std::chrono::seconds(80);
    while (!done()) {
      if (io::monotonic_now() > late) return false;
      uv_run(&uv_, UV_RUN_NOWAIT);
    }
    return true;
  }
  bool run_until_state(quic::ListenState state) {
    return run_until([&] {
      return std::ranges::all_of(receivers, [&](auto& one) { return one.listens(state); });
    });
  }
  bool run_until_received(std::size_t size) {
    return run_until([&] {
      return std::ranges::all_of(receivers, [&](auto& one) { return one.text.size() >= size; });
    });
  }

  // Whether a connection has a request for the channel
  bool serves() const {
    return std::ranges::any_of(at_source_,
                               [&](const auto& peer) { return peer.second.serves(*channel); });
  }

  std::shared_ptr<SourceNode> channel;
  std::vector<Receiver> receivers;

 private:
  // Without the channel, at whose host it ends
  ChannelHosts(const Place& place, ReceiverSettings settings, std::size_t receiver_count)
      : receivers(receiver_count), settings_(std::move(settings)) {
    uv_loop_init(&uv_);
    quic::EndpointConfig config;
    place.enter(1);
    for (Receiver& receiver : receivers) {
      receiver.node = std::make_unique<Node>(&uv_, config, ++seed_, false, place.receiver);
      watch_with(receiver);
    }
    place.enter(0);
    config.server_tls = switchboard::server_tls();
    source_ = std::make_unique<Node>(&uv_, config, ++seed_, false, place.source);
  }
  void begin(const Place& place, std::shared_ptr<SourceNode> source) {
    channel = std::move(source);
    serve();
    place.enter(1);
    for (Receiver& receiver : receivers) receiver.node->call(source_->loop().local_address(), {});
  }
  void write() {
    const auto bytes = reinterpret_cast<const std::uint8_t*>(unsent_.data());
    unsent_.erase(0, channel->write(group_, {bytes, unsent_.size()}, true).bytes);
  }
  void serve() {
    source_->on_event = [this](Node::Peer& peer, http3::SessionEvent& event) {
      ChannelEnds& ends = at_source_[&peer];
      if (ends.on_event(event, io::monotonic_now())) return;
      const auto* request = std::get_if<http3::RequestReceived>(&event);
      if (!request) return;
      EXPECT_TRUE(peer.session.submit_response(request->stream, {{":status", "200"}}, true));
      ends.keep(*ends.free_slot(),
                std::make_unique<SourceEnd>(
                    ChannelEnd::Carrier{source_->loop(), peer.driver},
                    channel_request::ChannelRequest::Place{peer.session, request->stream}, channel,
                    *io::parse_address(k_receiver, 0), io::monotonic_now()));
    };
    source_->on_turn = [this](Node::Peer& peer, quic::Time now) { at_source_[&peer].on_turn(now); };
  }
  void watch_with(Receiver& receiver) {
    receiver.node->on_event = [this, &receiver](Node::Peer& peer, http3::SessionEvent& event) {
      if (receiver.ends.on_event(event, io::monotonic_now())) return;
      if (std::holds_alternative<http3::SettingsReceived>(event)) {
        EXPECT_TRUE(peer.session.submit_request(
            {{":method", "POST"}, {":scheme", "https"}, {":authority", "a"}, {":path", "/"}},
            true));
      }
      const auto* response = std::get_if<http3::ResponseReceived>(&event);
      if (response) watch(receiver, peer, response->stream);
    };
    receiver.node->on_turn = [&receiver](Node::Peer&, quic::Time now) {
      receiver.ends.on_turn(now);
      take_groups(receiver);
    };
  }
  void watch(Receiver& receiver, Node::Peer& peer, quic::StreamId stream) {
    auto opened = ReceiverEnd::open(&uv_, {receiver.node->loop(), peer.driver},
                                    channel_request::ChannelRequest::Place{peer.session, stream},
                                    settings_, random_);
    ASSERT_TRUE(opened) << opened.error().message;
    receiver.end = opened->get();
    receiver.ends.keep(*receiver.ends.free_slot(), std::move(*opened));
  }
  static void take_groups(Receiver& receiver) {
    if (!receiver.end) return;
    while (const auto event = receiver.end->poll_event()) {
      EXPECT_TRUE(event->kind == quic::GroupEvent::Kind::kReadable ||
                  event->kind == quic::GroupEvent::Kind::kEnded);
      std::array<std::uint8_t, 5000> part;
      while (const std::size_t size = receiver.end->read(event->group, part)) {
        receiver.text.append(reinterpret_cast<const char*>(part.data()), size);
      }
    }
  }

  ReceiverSettings settings_;
  uv_loop_t uv_;
  std::uint64_t seed_ = 0;
  quic::SeededRandom random_{5};
  std::unique_ptr<Node> source_;
  std::unordered_map<Node::Peer*, ChannelEnds> at_source_;
  quic::StreamId group_;
  std::string unsent_;
};

inline SourceSettings to_group(const char* source = k_source) {
  SourceSettings settings;
  settings.group = *io::parse_address(k_group, k_group_port);
  settings.source = *io::parse_address(source, 0);
  // The whole of what a test sends fits, however slow the machine is.
  settings.deadline = std::chrono::seconds(60);
  settings.reach = 4096;
  return settings;
}

inline SourceSettings to_signed_group() {
  SourceSettings settings = to_group();
  settings.scheme = quic::AuthenticationScheme::kSigned;
  settings.repairs = true;
  return settings;
}

inline std::string pattern(std::size_t size) {
  std::string text(size, 0);
  for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>(i * 7 + i / 251);
  return text;
}

// Runs `work` in a thread that moves between two hosts.
template <typename Work>
void between_hosts(Work&& work) {
  std::string missing;
  std::thread([&] {
    io::TwoHosts hosts;
    missing = hosts.set_up();
    if (missing.empty()) work(hosts);
  }).join();
  if (!missing.empty()) GTEST_SKIP() << missing;
}

}  // namespace sheaf::channel_node
