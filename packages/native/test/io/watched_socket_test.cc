#include "io/watched_socket.h"

#include <thread>

#include "io/ethernet_tap.h"
#include "io/find_socket.h"
#include "io/socket_address.h"

namespace sheaf::io {
namespace {

constexpr std::size_t k_datagram_size = 1000;

// Sends numbered datagrams from one socket.
struct Sender {
  Sender(uv_loop_t* loop, const char* local, const quic::Address& to)
      : buffer(k_datagram_size), remote(to) {
    auto opened = WatchedSocket::open(loop, *parse_address(local, 0), {}, [](WatchedSocket& ready) {
      ready.receive([](const quic::Datagram&) {});
      ready.resume();
    });
    EXPECT_TRUE(opened) << opened.error().message;
    socket = std::move(*opened);
  }
  void send() {
    quic::store(buffer.data(), number++);
    quic::TransmitBatch batch;
    batch.buffer = buffer;
    batch.size = batch.segment_size = k_datagram_size;
    batch.path = {socket->local_address(), remote};
    socket->send(batch, buffer);
  }

  std::unique_ptr<WatchedSocket> socket;
  std::vector<std::uint8_t> buffer;
  quic::Address remote;
  std::uint16_t number = 0;
};

// The route of one socket is blocked, and that of another is not.
void keep_others_going(std::string& missing) {
  EthernetTap tap;
  missing = tap.set_up();
  if (!missing.empty()) return;
  uv_loop_t loop;
  uv_loop_init(&loop);
  {
    std::size_t arrived = 0;
    auto receiver = WatchedSocket::open(&loop, *parse_address("127.0.0.1", 0), {},
                                        [&arrived](WatchedSocket& ready) {
                                          arrived += ready.receive([](const quic::Datagram&) {});
                                        });
    ASSERT_TRUE(receiver);
    Sender blocked(&loop, k_tap_local, *parse_address(k_tap_peer, 9));
    Sender open(&loop, "127.0.0.2", (*receiver)->local_address());
    const int small = 16 * 1024;
    const int descriptor = find_socket(blocked.socket->local_address().port);
    ASSERT_EQ(setsockopt(descriptor, SOL_SOCKET, SO_SNDBUF, &small, sizeof small), 0);
    while (!blocked.socket->blocked() && blocked.number < 10'000) blocked.send();
    ASSERT_TRUE(blocked.socket->blocked()) << blocked.number;
    const std::uint16_t accepted = blocked.number;
    // The waiting batch is kept, and not replaced by a second one.
    blocked.send();
    for (int i = 0; i < 10; ++i) open.send();
    EXPECT_FALSE(open.socket->blocked());
    while (arrived < 10 && uv_loop_alive(&loop)) uv_run(&loop, UV_RUN_ONCE);

    tap.tell_hardware_address();
    while (blocked.socket->blocked() && uv_loop_alive(&loop)) uv_run(&loop, UV_RUN_ONCE);
    const auto payloads = tap.read_payloads();
    ASSERT_EQ(payloads.size(), accepted);
    EXPECT_EQ(quic::load<std::uint16_t>(payloads.back().data()), accepted - 1);
  }
  uv_run(&loop, UV_RUN_DEFAULT);
  EXPECT_EQ(uv_loop_close(&loop), 0);
}

TEST(WatchedSocketTest, ABlockedOneStopsNoOther) {
  std::string missing;
  // Only this thread uses the namespace.
  std::thread(keep_others_going, std::ref(missing)).join();
  if (!missing.empty()) GTEST_SKIP() << missing;
}

}  // namespace
}  // namespace sheaf::io
