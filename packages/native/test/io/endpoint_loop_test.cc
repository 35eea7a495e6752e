#include "io/endpoint_loop.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <vector>

#include "crypto/tls_context.h"
#include "endpoint/endpoint.h"
#include "io/find_socket.h"
#include "io/monotonic_clock.h"
#include "io/socket_address.h"
#include "util/random.h"

namespace sheaf::io {
namespace {

struct NoListener final : EndpointLoop::Listener {
  void on_active(quic::ConnectionDriver&, quic::Time) override {}
  void on_turn_end() override { ++turns; }
  void on_removed(quic::ConnectionDriver&) override {}
  void on_flushed(quic::Time) override {
    if (flushed) flushed();
  }
  int turns = 0;
  std::function<void()> flushed;
};

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

std::uint16_t unused_port() {
  const int descriptor = socket(AF_INET, SOCK_DGRAM, 0);
  sockaddr_in address = loopback(0);
  socklen_t length = sizeof address;
  bind(descriptor, reinterpret_cast<sockaddr*>(&address), length);
  getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &length);
  close(descriptor);
  return ntohs(address.sin_port);
}

class EndpointLoopTest : public testing::Test {
 protected:
  void SetUp() override {
    uv_loop_init(&uv_);
    endpoint_ = std::make_unique<quic::Endpoint>(quic::EndpointConfig{}, random_);
    loop_ = std::make_unique<EndpointLoop>(
        &uv_, *endpoint_, listener_,
        [this](const quic::Arrivals&, quic::Time now) { return now + pause_; });
    // The test chooses the port, because `disconnect` would release a port that the system chose.
    ASSERT_TRUE(loop_->bind(*parse_address("127.0.0.1", unused_port()), {}));
    socket_ = find_socket(loop_->local_address().port);
    ASSERT_GE(socket_, 0);
  }
  void TearDown() override {
    loop_->close({});
    uv_run(&uv_, UV_RUN_DEFAULT);
    EXPECT_EQ(uv_loop_close(&uv_), 0);
  }
  // An ICMP message about a port without a listener becomes the socket's error.
  void fail_socket() {
    const sockaddr_in address = loopback(unused_port());
    ASSERT_EQ(connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    ASSERT_EQ(send(socket_, "x", 1, 0), 1);
  }
  void disconnect() {
    sockaddr address{};
    address.sa_family = AF_UNSPEC;
    ASSERT_EQ(connect(socket_, &address, sizeof address), 0);
  }

  void send_to_endpoint() { send_to(loop_->local_address().port); }
  static void send_to(std::uint16_t port) {
    const int sender = socket(AF_INET, SOCK_DGRAM, 0);
    const sockaddr_in target = loopback(port);
    ASSERT_EQ(
        sendto(sender, "hello", 5, 0, reinterpret_cast<const sockaddr*>(&target), sizeof target),
        5);
    close(sender);
  }
  std::uint64_t received() const { return endpoint_->stats().datagrams_received; }
  void run_until_received(std::uint64_t datagrams) {
    while (received() < datagrams && uv_loop_alive(&uv_)) uv_run(&uv_, UV_RUN_ONCE);
  }

  uv_loop_t uv_;
  quic::Duration pause_{};
  quic::SeededRandom random_{1};
  NoListener listener_;
  std::unique_ptr<quic::Endpoint> endpoint_;
  std::unique_ptr<EndpointLoop> loop_;
  int socket_ = -1;
};

TEST_F(EndpointLoopTest, ReceivesAgainAfterAnErrorOfTheSocket) {
  for (int round = 0; round < 3; ++round) {
    fail_socket();
    for (int turn = 0; turn < 10; ++turn) uv_run(&uv_, UV_RUN_NOWAIT);
    disconnect();
    const int before = listener_.turns;
    send_to_endpoint();
    // The socket recovers within the pause between two attempts, or at once.
    while (listener_.turns == before && uv_loop_alive(&uv_)) uv_run(&uv_, UV_RUN_ONCE);
    EXPECT_GT(listener_.turns, before);
  }
}

// libuv gives the endpoint that was made last its turn first, so this one has had it already.
TEST_F(EndpointLoopTest, RunsTheTimersOfAConnectionThatAnotherEndpointLetSend) {
  quic::Endpoint second(quic::EndpointConfig{}, random_);
  NoListener none;
  EndpointLoop second_loop(&uv_, second, none);
  ASSERT_TRUE(second_loop.bind(*parse_address("127.0.0.1", 0), {}));
  const int deaf = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
  sockaddr_in address = loopback(0);
  socklen_t length = sizeof address;
  ASSERT_EQ(bind(deaf, reinterpret_cast<sockaddr*>(&address), length), 0);
  getsockname(deaf, reinterpret_cast<sockaddr*>(&address), &length);

  quic::ClientHandshakeConfig handshake;
  handshake.tls = *quic::make_tls_client_context({.alpn = {"h3"},
                                                  .certificate_authority_pem = {},
                                                  .certificate_hashes = {},
                                                  .insecure = true});
  handshake.server_name = "localhost";
  handshake.path = {second_loop.local_address(),
                    *parse_address("127.0.0.1", ntohs(address.sin_port))};
  const auto driver = second.connect(std::move(handshake), {}, monotonic_now());
  ASSERT_TRUE(driver);
  listener_.flushed = [&] {
    second_loop.send_now(**driver);
    listener_.flushed = {};
  };
  loop_->wake(**driver);  // it is none of the first endpoint, which has a turn all the same

  uv_timer_t guard;  // without it, the loop would sleep for ever
  uv_timer_init(&uv_, &guard);
  uv_timer_start(
      &guard, [](uv_timer_t*) {}, 10'000, 0);
  int received = 0;
  char buffer[2048];
  while (received < 2 && uv_is_active(reinterpret_cast<uv_handle_t*>(&guard))) {
    uv_run(&uv_, UV_RUN_ONCE);
    while (recv(deaf, buffer, sizeof buffer, 0) > 0) ++received;
  }
  EXPECT_GE(received, 2) << "a probe follows the first packet";
  close(deaf);
  uv_close(reinterpret_cast<uv_handle_t*>(&guard), nullptr);
  second_loop.close({});
  uv_run(&uv_, UV_RUN_NOWAIT);
}

TEST_F(EndpointLoopTest, SendsOnceForAllSocketsThatAreReadable) {
  const auto further = loop_->add_local_address(*parse_address("127.0.0.1", 0));
  ASSERT_TRUE(further);
  int flushes = 0;
  listener_.flushed = [&] { ++flushes; };
  send_to_endpoint();
  send_to(further->port);
  run_until_received(2);
  uv_run(&uv_, UV_RUN_NOWAIT);
  EXPECT_EQ(flushes, 1);
}

TEST_F(EndpointLoopTest, ReadsNothingDuringAPause) {
  pause_ = std::chrono::hours(1);
  send_to_endpoint();
  run_until_received(1);
  send_to_endpoint();
  for (int turn = 0; turn < 100; ++turn) uv_run(&uv_, UV_RUN_NOWAIT);
  EXPECT_EQ(received(), 1u);
  EXPECT_TRUE(uv_loop_alive(&uv_)) << "a socket keeps the process alive also while it is not read";
}

TEST_F(EndpointLoopTest, ReadsWhatCameDuringPauses) {
  pause_ = std::chrono::milliseconds(1);
  for (std::uint64_t datagrams = 1; datagrams <= 10; ++datagrams) {
    send_to_endpoint();
    run_until_received(datagrams);
    EXPECT_EQ(received(), datagrams);
  }
  const int turns = listener_.turns;
  while (listener_.turns < turns + 5) uv_run(&uv_, UV_RUN_ONCE);
  // The next read ends the pauses.
  pause_ = {};
  send_to_endpoint();
  run_until_received(11);
  for (int turn = 0; turn < 10; ++turn) uv_run(&uv_, UV_RUN_NOWAIT);
  send_to_endpoint();
  run_until_received(12);
  EXPECT_EQ(received(), 12u);
}

TEST_F(EndpointLoopTest, ReadsNoMoreInATurnThanTheCacheHolds) {
  constexpr int k_datagrams = 16;
  const std::vector<char> datagram(60'000, 'x');
  int room = 0;
  socklen_t length = sizeof room;
  ASSERT_EQ(getsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &room, &length), 0);
  if (room < 4 << 20)
    GTEST_SKIP() << "needs a receive buffer of 4 MiB, and this user gets " << room;

  const int sender = socket(AF_INET, SOCK_DGRAM, 0);
  const sockaddr_in target = loopback(loop_->local_address().port);
  for (int i = 0; i < k_datagrams; ++i) {
    ASSERT_EQ(sendto(sender, datagram.data(), datagram.size(), 0,
                     reinterpret_cast<const sockaddr*>(&target), sizeof target),
              static_cast<ssize_t>(datagram.size()));
  }
  close(sender);
  // Returns the size of the next datagram that waits.
  const auto waiting = [&] {
    int bytes = 0;
    EXPECT_EQ(ioctl(socket_, FIONREAD, &bytes), 0);
    return bytes;
  };
  while (listener_.turns == 0) uv_run(&uv_, UV_RUN_ONCE);
  EXPECT_GT(waiting(), 0) << "the application has its turn before all is received";
  for (int turn = 0; turn < 100 && waiting() > 0; ++turn) uv_run(&uv_, UV_RUN_NOWAIT);
  EXPECT_EQ(waiting(), 0);
}

}  // namespace
}  // namespace sheaf::io
