#include <gtest/gtest.h>

#include <thread>

#include "channel_node/channel_ends.h"
#include "channel_node/receiver_node.h"
#include "channel_node/source_node.h"
#include "io/two_hosts.h"
#include "switchboard/backbone_pair.h"

namespace sheaf::channel_node {
namespace {

using switchboard::Node;

constexpr const char* k_source = "10.98.0.1";
constexpr const char* k_other_source = "10.98.0.3";
constexpr const char* k_receiver = "10.98.0.2";
constexpr std::uint16_t k_group_port = 5499;

// A source and a receiver on two hosts with a cable between them. Both run on one loop.
class TwoNodes {
 public:
  TwoNodes(io::TwoHosts& hosts, SourceSettings source_settings, ReceiverSettings settings)
      : hosts_(hosts), settings_(std::move(settings)) {
    uv_loop_init(&uv_);
    hosts.enter(1);
    quic::EndpointConfig config;
    receiver_ = std::make_unique<Node>(&uv_, config, 1, false, k_receiver);
    hosts.enter(0);
    config.server_tls = switchboard::server_tls();
    source_ = std::make_unique<Node>(&uv_, config, 2, false, k_source);
    auto opened = SourceNode::open(&uv_, source_settings, random_, [this] { write(); });
    EXPECT_TRUE(opened) << opened.error().message;
    channel = std::move(*opened);
    hosts.enter(1);
    listen();
    receiver_->call(source_->loop().local_address(), {});
  }
  ~TwoNodes() {
    at_source = {};
    at_receiver = {};
    channel.reset();
    for (Node* node : {source_.get(), receiver_.get()}) node->loop().close({});
    uv_run(&uv_, UV_RUN_DEFAULT);
    receiver_.reset();
    source_.reset();
    EXPECT_EQ(uv_loop_close(&uv_), 0);
  }

  // Sends bytes as one group, and more of them when there is room.
  void send(std::string text) {
    group = *channel->open_group();
    unsent_ = std::move(text);
    write();
  }
  void write() {
    const auto bytes = reinterpret_cast<const std::uint8_t*>(unsent_.data());
    unsent_.erase(0, channel->write(group, {bytes, unsent_.size()}, true).bytes);
  }
  // Returns false after 20 s, within which everything here happens unless it never does.
  template <typename Done>
  bool run_until(Done&& done) {
    const quic::Time late = io::monotonic_now() + std::chrono::seconds(20);
    while (!done()) {
      if (io::monotonic_now() > late) return false;
      uv_run(&uv_, UV_RUN_NOWAIT);
    }
    return true;
  }
  bool run_until_state(quic::ListenState state) {
    return run_until([&] {
      return end && end->request().receiver() && end->request().receiver()->state() == state;
    });
  }
  quic::ReceiverCounts counts() { return end->request().receiver()->counts(); }

  std::shared_ptr<SourceNode> channel;
  ChannelEnds at_source;
  ChannelEnds at_receiver;
  ReceiverEnd* end = nullptr;
  quic::StreamId group;
  std::string received;

 private:
  void listen() {
    source_->on_event = [this](Node::Peer& peer, http3::SessionEvent& event) {
      if (at_source.on_event(event, io::monotonic_now())) return;
      const auto* request = std::get_if<http3::RequestReceived>(&event);
      if (!request) return;
      EXPECT_TRUE(peer.session.submit_response(request->stream, {{":status", "200"}}, true));
      at_source.keep(*at_source.free_slot(),
                     std::make_unique<SourceEnd>(
                         ChannelEnd::Carrier{source_->loop(), peer.driver},
                         channel_request::ChannelRequest::Place{peer.session, request->stream},
                         channel, io::monotonic_now()));
    };
    source_->on_turn = [this](Node::Peer&, quic::Time now) { at_source.on_turn(now); };
    receiver_->on_event = [this](Node::Peer& peer, http3::SessionEvent& event) {
      if (at_receiver.on_event(event, io::monotonic_now())) return;
      if (std::holds_alternative<http3::SettingsReceived>(event)) {
        EXPECT_TRUE(peer.session.submit_request(
            {{":method", "POST"}, {":scheme", "https"}, {":authority", "a"}, {":path", "/"}},
            true));
      }
      const auto* response = std::get_if<http3::ResponseReceived>(&event);
      if (response) watch(peer, response->stream);
    };
    receiver_->on_turn = [this](Node::Peer&, quic::Time now) {
      at_receiver.on_turn(now);
      take_groups();
    };
  }
  void watch(Node::Peer& peer, quic::StreamId stream) {
    auto opened = ReceiverEnd::open(&uv_, {receiver_->loop(), peer.driver},
                                    channel_request::ChannelRequest::Place{peer.session, stream},
                                    settings_, random_);
    ASSERT_TRUE(opened) << opened.error().message;
    end = opened->get();
    at_receiver.keep(*at_receiver.free_slot(), std::move(*opened));
  }
  void take_groups() {
    if (!end) return;
    while (const auto event = end->poll_event()) {
      EXPECT_TRUE(event->kind == quic::GroupEvent::Kind::kReadable ||
                  event->kind == quic::GroupEvent::Kind::kEnded);
      std::array<std::uint8_t, 5000> part;
      while (const std::size_t size = end->read(event->group, part)) {
        received.append(reinterpret_cast<const char*>(part.data()), size);
      }
    }
  }

  io::TwoHosts& hosts_;
  ReceiverSettings settings_;
  uv_loop_t uv_;
  quic::SeededRandom random_{5};
  std::unique_ptr<Node> source_;
  std::unique_ptr<Node> receiver_;
  std::string unsent_;
};

SourceSettings to_group(const char* source = k_source) {
  SourceSettings settings;
  settings.group = *io::parse_address("232.98.7.2", k_group_port);
  settings.source = *io::parse_address(source, 0);
  // The whole of what a test sends fits, however slow the machine is.
  settings.deadline = std::chrono::seconds(10);
  settings.reach = 4096;
  return settings;
}

std::string pattern(std::size_t size) {
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

TEST(ChannelNodes, AGroupComesByMulticast) {
  between_hosts([](io::TwoHosts& hosts) {
    TwoNodes nodes(hosts, to_group(), {});
    ASSERT_TRUE(nodes.run_until_state(quic::ListenState::kReceiving)) << nodes.end->join_error();
    const std::string text = pattern(3'000'000);
    nodes.send(text);
    EXPECT_TRUE(nodes.run_until([&] { return nodes.received.size() >= text.size(); }));
    EXPECT_EQ(nodes.received, text);
    EXPECT_GT(nodes.counts().from_group, nodes.counts().from_unicast);
    EXPECT_EQ(nodes.channel->receivers(), 1u);
  });
}

TEST(ChannelNodes, AGroupComesByCopiesWhereNobodyJoins) {
  between_hosts([](io::TwoHosts& hosts) {
    ReceiverSettings settings;
    settings.joins = false;
    TwoNodes nodes(hosts, to_group(), settings);
    ASSERT_TRUE(nodes.run_until_state(quic::ListenState::kWant));
    const std::string text = pattern(1'000'000);
    nodes.send(text);
    EXPECT_TRUE(nodes.run_until([&] { return nodes.received.size() >= text.size(); }));
    EXPECT_EQ(nodes.received, text);
    EXPECT_EQ(nodes.counts().from_group, 0u);
  });
}

// A server must not make its clients join the groups of others.
TEST(ChannelNodes, AForeignSourceIsNotJoinedUnlessPermitted) {
  between_hosts([](io::TwoHosts& hosts) {
    {
      TwoNodes nodes(hosts, to_group(k_other_source), {});
      ASSERT_TRUE(nodes.run_until_state(quic::ListenState::kWant));
      nodes.send("by copies");
      EXPECT_TRUE(nodes.run_until([&] { return nodes.received == "by copies"; }));
      EXPECT_NE(nodes.end->join_error().find(k_other_source), std::string::npos);
      EXPECT_EQ(nodes.counts().from_group, 0u);
    }
    ReceiverSettings permitted;
    permitted.sources.push_back(*io::parse_address(k_other_source, 0));
    TwoNodes nodes(hosts, to_group(k_other_source), permitted);
    EXPECT_TRUE(nodes.run_until_state(quic::ListenState::kReceiving));
    EXPECT_EQ(nodes.end->join_error(), "");
  });
}

// The group's port is taken by a socket that does not share it.
TEST(ChannelNodes, AGroupThatCannotBeJoinedComesByCopies) {
  between_hosts([](io::TwoHosts& hosts) {
    hosts.enter(1);
    const auto occupied = io::UdpSocket::open(*io::parse_address("0.0.0.0", k_group_port), {});
    ASSERT_TRUE(occupied);
    TwoNodes nodes(hosts, to_group(), {});
    ASSERT_TRUE(nodes.run_until_state(quic::ListenState::kWant));
    EXPECT_NE(nodes.end->join_error().find("EADDRINUSE"), std::string::npos);
    nodes.send("by copies");
    EXPECT_TRUE(nodes.run_until([&] { return nodes.received == "by copies"; }));
  });
}

TEST(ChannelNodes, AReceiverThatLeavesIsForgotten) {
  between_hosts([](io::TwoHosts& hosts) {
    TwoNodes nodes(hosts, to_group(), {});
    ASSERT_TRUE(nodes.run_until_state(quic::ListenState::kReceiving));
    nodes.end->leave(io::monotonic_now());
    ASSERT_TRUE(nodes.run_until([&] { return nodes.channel->receivers() == 0; }));
    EXPECT_EQ(nodes.end->request().left(), quic::LeaveReason::kWish);
  });
}

}  // namespace
}  // namespace sheaf::channel_node
