#include <thread>

#include "io/ethernet_tap.h"
#include "io/socket_address.h"
#include "io/udp_socket.h"

namespace sheaf::io {
namespace {

// Sends numbered datagrams until the socket is full, unblocks the network, and sends the blocked
// batch again. Every datagram must arrive exactly once and in order.
void resume_after_block(bool segmentation_offload, std::string& missing) {
  EthernetTap tap;
  missing = tap.set_up();
  if (!missing.empty()) return;
  auto opened = UdpSocket::open(*parse_address(k_tap_local, 0),
                                {.segmentation_offload = segmentation_offload});
  ASSERT_TRUE(opened) << opened.error().message;
  UdpSocket& socket = **opened;
  const int small = 16 * 1024;
  setsockopt(socket.descriptor(), SOL_SOCKET, SO_SNDBUF, &small, sizeof small);

  constexpr std::size_t k_segment_size = 1000;
  constexpr std::size_t k_segments = 8;
  std::vector<std::uint8_t> buffer(k_segments * k_segment_size);
  quic::TransmitBatch batch;
  batch.buffer = buffer;
  batch.size = buffer.size();
  batch.segment_size = k_segment_size;
  batch.path.remote = *parse_address(k_tap_peer, 9);

  std::uint16_t number = 0;
  SendOutcome outcome = SendOutcome::kSent;
  for (int round = 0; round < 100 && outcome != SendOutcome::kBlocked; ++round) {
    for (std::size_t i = 0; i < k_segments; ++i) quic::store(&buffer[i * k_segment_size], number++);
    outcome = socket.send(batch);
  }
  ASSERT_EQ(outcome, SendOutcome::kBlocked);
  ASSERT_EQ(socket.send(batch), SendOutcome::kBlocked);
  tap.tell_hardware_address();
  pollfd writable{socket.descriptor(), POLLOUT, 0};
  ASSERT_EQ(poll(&writable, 1, 10'000), 1);
  // The buffer is smaller than some batches, so the socket may block again, but nothing may be lost
  // or doubled.
  while ((outcome = socket.send(batch)) == SendOutcome::kBlocked) poll(&writable, 1, 10'000);
  EXPECT_EQ(outcome, SendOutcome::kSent);

  const auto payloads = tap.read_payloads();
  ASSERT_EQ(payloads.size(), number);
  for (std::uint16_t i = 0; i < number; ++i) {
    EXPECT_EQ(payloads[i].size(), k_segment_size);
    EXPECT_EQ(quic::load<std::uint16_t>(payloads[i].data()), i);
  }
}

// While the socket's own address is gone, batches are dropped. Afterwards they are sent again.
void lose_the_address(bool segmentation_offload, std::string& missing) {
  EthernetTap tap;
  missing = tap.set_up();
  if (!missing.empty()) return;
  tap.tell_hardware_address();
  auto opened = UdpSocket::open(*parse_address(k_tap_local, 0),
                                {.segmentation_offload = segmentation_offload});
  ASSERT_TRUE(opened) << opened.error().message;
  UdpSocket& socket = **opened;
  std::vector<std::uint8_t> buffer(3000);
  quic::TransmitBatch batch;
  batch.buffer = buffer;
  batch.size = buffer.size();
  batch.segment_size = 1000;
  batch.path = {socket.local_address(), *parse_address(k_tap_peer, 9)};
  EXPECT_EQ(socket.send(batch), SendOutcome::kSent);
  EXPECT_EQ(tap.read_payloads().size(), 3u);

  tap.set_address_present(false);
  EXPECT_EQ(socket.send(batch), SendOutcome::kDropped);
  socket.receive([](const quic::Datagram&) {});
  EXPECT_TRUE(tap.read_payloads().empty());

  tap.set_address_present(true);
  tap.tell_hardware_address();
  EXPECT_EQ(socket.send(batch), SendOutcome::kSent);
  EXPECT_EQ(tap.read_payloads().size(), 3u);
}

class BlockedUdpSocketTest : public testing::TestWithParam<bool> {};

TEST_P(BlockedUdpSocketTest, ContinuesWhereItWasBlocked) {
  std::string missing;
  // Only this thread uses the namespace.
  std::thread(resume_after_block, GetParam(), std::ref(missing)).join();
  if (!missing.empty()) GTEST_SKIP() << missing;
}

TEST_P(BlockedUdpSocketTest, LosesNothingElseWithItsAddress) {
  std::string missing;
  std::thread(lose_the_address, GetParam(), std::ref(missing)).join();
  if (!missing.empty()) GTEST_SKIP() << missing;
}

INSTANTIATE_TEST_SUITE_P(Tap, BlockedUdpSocketTest, testing::Bool(), [](const auto& parameter) {
  return parameter.param ? "Offloaded" : "Plain";
});

}  // namespace
}  // namespace sheaf::io
