#include <atomic>

#include "channel_node/channel_hosts.h"

namespace sheaf::channel_node {
namespace {

// A thread with a server and a client of it that receives a channel of another thread.
class FarReceiver {
 public:
  FarReceiver(std::shared_ptr<SourceNode> channel, std::uint64_t seed)
      : seed_(seed), thread_([this, channel = std::move(channel)]() mutable {
          uv_loop_init(&uv_);
          run(std::move(channel));
          EXPECT_EQ(uv_loop_close(&uv_), 0);
        }) {}
  ~FarReceiver() {
    stops = true;
    thread_.join();
  }

  std::atomic<bool> wants = false;
  std::atomic<std::size_t> received = 0;
  std::atomic<bool> over = false;
  std::atomic<bool> stops = false;

 private:
  void run(std::shared_ptr<SourceNode> channel) {
    quic::EndpointConfig config;
    Node client(&uv_, config, seed_);
    config.server_tls = switchboard::server_tls();
    Node server(&uv_, config, seed_ + 1);
    serve(server, std::move(channel));
    watch(client);
    client.call(server.loop().local_address(), {});
    while (!stops) {
      uv_run(&uv_, UV_RUN_NOWAIT);
      if (end_) follow();
    }
    at_source_ = {};
    at_receiver_ = {};
    server.loop().close({});
    client.loop().close({});
    uv_run(&uv_, UV_RUN_DEFAULT);
  }
  void follow() {
    const quic::ChannelReceiver* receiver = end_->request().receiver();
    wants = receiver && receiver->state() == quic::ListenState::kWant;
    over = end_->request().over().has_value();
    while (const auto event = end_->poll_event()) {
      std::array<std::uint8_t, 5000> part;
      while (const std::size_t size = end_->read(event->group, part)) received += size;
    }
  }
  void serve(Node& server, std::shared_ptr<SourceNode> channel) {
    server.on_event = [this, &server, channel](Node::Peer& peer, http3::SessionEvent& event) {
      if (at_source_.on_event(event, io::monotonic_now())) return;
      const auto* request = std::get_if<http3::RequestReceived>(&event);
      if (!request) return;
      EXPECT_TRUE(peer.session.submit_response(request->stream, {{":status", "200"}}, true));
      at_source_.keep(0, std::make_unique<SourceEnd>(
                             ChannelEnd::Carrier{server.loop(), peer.driver},
                             channel_request::ChannelRequest::Place{peer.session, request->stream},
                             channel, *io::parse_address("127.0.0.1", 0), io::monotonic_now()));
    };
    server.on_turn = [this](Node::Peer&, quic::Time now) { at_source_.on_turn(now); };
  }
  void watch(Node& client) {
    client.on_event = [this, &client](Node::Peer& peer, http3::SessionEvent& event) {
      if (at_receiver_.on_event(event, io::monotonic_now())) return;
      if (std::holds_alternative<http3::SettingsReceived>(event)) {
        EXPECT_TRUE(peer.session.submit_request(
            {{":method", "POST"}, {":scheme", "https"}, {":authority", "a"}, {":path", "/"}},
            true));
      }
      const auto* response = std::get_if<http3::ResponseReceived>(&event);
      if (!response) return;
      ReceiverSettings settings;
      settings.joins = false;
      auto opened =
          ReceiverEnd::open(&uv_, {client.loop(), peer.driver},
                            channel_request::ChannelRequest::Place{peer.session, response->stream},
                            settings, random_);
      ASSERT_TRUE(opened);
      end_ = opened->get();
      at_receiver_.keep(0, std::move(*opened));
    };
    client.on_turn = [this](Node::Peer&, quic::Time now) { at_receiver_.on_turn(now); };
  }

  std::uint64_t seed_;
  uv_loop_t uv_;
  quic::SeededRandom random_{7};
  ChannelEnds at_source_;
  ChannelEnds at_receiver_;
  ReceiverEnd* end_ = nullptr;
  std::thread thread_;
};

// A source on the loop of this thread, and receivers on two others
class FarReceivers : public testing::Test {
 protected:
  void SetUp() override {
    uv_loop_init(&uv_);
    // A channel does not keep its loop alive.
    uv_prepare_init(&uv_, &alive_);
    uv_prepare_start(&alive_, [](uv_prepare_t*) {});
    SourceSettings settings;
    settings.deadline = std::chrono::seconds(60);
    auto opened = SourceNode::open(&uv_, settings, random_, [this] { write(); });
    ASSERT_TRUE(opened);
    channel_ = std::move(*opened);
    for (const std::uint64_t seed : {10, 20}) {
      receivers_.push_back(std::make_unique<FarReceiver>(channel_, seed));
    }
    ASSERT_TRUE(run_until([](FarReceiver& each) { return each.wants.load(); }));
  }
  void TearDown() override {
    receivers_.clear();
    if (channel_ && !channel_->closed()) channel_->close({});
    channel_.reset();
    uv_close(reinterpret_cast<uv_handle_t*>(&alive_), nullptr);
    uv_run(&uv_, UV_RUN_DEFAULT);
    EXPECT_EQ(uv_loop_close(&uv_), 0);
  }

  void send(std::size_t size) {
    group_ = *channel_->open_group();
    unsent_ = pattern(size);
    write();
  }
  void write() {
    const auto bytes = reinterpret_cast<const std::uint8_t*>(unsent_.data());
    unsent_.erase(0, channel_->write(group_, {bytes, unsent_.size()}, true).bytes);
  }
  // Returns false after 80 s, within which everything here happens unless it never does.
  template <typename Done>
  bool run_until(Done&& done) {
    const quic::Time late = io::monotonic_now() + std::chrono::seconds(80);
    while (!std::ranges::all_of(receivers_, [&](const auto& each) { return done(*each); })) {
      if (io::monotonic_now() > late) return false;
      uv_run(&uv_, UV_RUN_NOWAIT);
    }
    return true;
  }
  std::size_t joined() {
    const auto held = channel_->hold();
    return channel_->receivers();
  }

  uv_loop_t uv_;
  uv_prepare_t alive_;
  quic::SeededRandom random_{5};
  std::shared_ptr<SourceNode> channel_;
  std::vector<std::unique_ptr<FarReceiver>> receivers_;

 private:
  quic::StreamId group_;
  std::string unsent_;
};

TEST_F(FarReceivers, GetAllThatTheSourceSends) {
  constexpr std::size_t k_size = 1'000'000;
  send(k_size);
  EXPECT_TRUE(run_until([](FarReceiver& each) { return each.received >= k_size; }));
  EXPECT_EQ(joined(), 2u);
}

TEST_F(FarReceivers, LeaveWhileTheSourceSends) {
  constexpr std::size_t k_size = 500'000;
  send(k_size);
  receivers_.pop_back();
  EXPECT_TRUE(run_until([](FarReceiver& each) { return each.received >= k_size; }));
  EXPECT_EQ(joined(), 1u);
}

// The thread of the source may end before the others hear of it.
TEST_F(FarReceivers, HearThatTheSourceIsGone) {
  channel_->close({});
  channel_.reset();
  EXPECT_TRUE(run_until([](FarReceiver& each) { return each.over.load(); }));
}

}  // namespace
}  // namespace sheaf::channel_node
