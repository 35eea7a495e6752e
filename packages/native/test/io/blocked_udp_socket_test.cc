#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstring>
#include <thread>

#include "io/socket_address.h"
#include "io/udp_socket.h"

namespace sheaf::io {
namespace {

using SendOutcome = UdpSocket::SendOutcome;

constexpr const char* k_interface = "sheaf0";
constexpr const char* k_local = "10.99.0.1";
constexpr const char* k_peer = "10.99.0.2";

// An Ethernet interface in a network namespace of the calling thread, whose frames end up here. As
// long as the peer's hardware address is unknown the kernel keeps what is sent to it, and a
// socket's buffer fills up.
class EthernetTap {
 public:
  ~EthernetTap() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }

  // What is missing on this machine, or nothing.
  std::string set_up() {
    if (unshare(CLONE_NEWNET) != 0) return "no right to make a network namespace";
    descriptor_ = ::open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (descriptor_ < 0) return "no /dev/net/tun";
    ifreq request = interface_request();
    request.ifr_flags = IFF_TAP | IFF_NO_PI;
    if (ioctl(descriptor_, TUNSETIFF, &request) != 0) return "no TAP interface";
    request = interface_request();
    set_address(request.ifr_addr, k_local);
    configure(SIOCSIFADDR, &request);
    set_address(request.ifr_netmask, "255.255.255.0");
    configure(SIOCSIFNETMASK, &request);
    request = interface_request();
    request.ifr_flags = IFF_UP | IFF_RUNNING;
    configure(SIOCSIFFLAGS, &request);
    return {};
  }

  void tell_hardware_address() {
    arpreq request{};
    set_address(request.arp_pa, k_peer);
    request.arp_ha.sa_family = ARPHRD_ETHER;
    request.arp_ha.sa_data[0] = 2;  // locally administered
    request.arp_flags = ATF_COM | ATF_PERM;
    std::strcpy(request.arp_dev, k_interface);
    configure(SIOCSARP, &request);
  }

  // UDP payloads to the peer, until none comes for a while.
  std::vector<std::vector<std::uint8_t>> read_payloads() {
    constexpr std::size_t k_headers = 14 + 20 + 8;  // Ethernet, IPv4, UDP
    std::vector<std::vector<std::uint8_t>> payloads;
    std::uint8_t frame[2048];
    pollfd readable{descriptor_, POLLIN, 0};
    while (poll(&readable, 1, 300) == 1) {
      const ssize_t length = ::read(descriptor_, frame, sizeof frame);
      const bool is_udp = length > static_cast<ssize_t>(k_headers) && frame[12] == 0x08 &&
                          frame[13] == 0x00 && frame[14 + 9] == IPPROTO_UDP;
      if (is_udp) payloads.emplace_back(frame + k_headers, frame + length);
    }
    return payloads;
  }

 private:
  static ifreq interface_request() {
    ifreq request{};
    std::strcpy(request.ifr_name, k_interface);
    return request;
  }
  static void set_address(sockaddr& address, const char* text) {
    auto& ipv4 = reinterpret_cast<sockaddr_in&>(address);
    ipv4.sin_family = AF_INET;
    inet_pton(AF_INET, text, &ipv4.sin_addr);
  }
  template <typename Request>
  static void configure(unsigned long operation, Request* request) {
    const int descriptor = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    EXPECT_EQ(ioctl(descriptor, operation, request), 0) << std::strerror(errno);
    ::close(descriptor);
  }

  int descriptor_ = -1;
};

// Sends numbered datagrams until the socket is full, opens the way, sends the blocked batch again:
// every datagram must come out exactly once and in order.
void resume_after_block(bool segmentation_offload, std::string& missing) {
  EthernetTap tap;
  missing = tap.set_up();
  if (!missing.empty()) return;
  auto opened =
      UdpSocket::open(*parse_address(k_local, 0), {.segmentation_offload = segmentation_offload});
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
  batch.path.remote = *parse_address(k_peer, 9);

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
  // The buffer is smaller than some batches: blocked again is allowed, lost or doubled is not.
  while ((outcome = socket.send(batch)) == SendOutcome::kBlocked) poll(&writable, 1, 10'000);
  EXPECT_EQ(outcome, SendOutcome::kSent);

  const auto payloads = tap.read_payloads();
  ASSERT_EQ(payloads.size(), number);
  for (std::uint16_t i = 0; i < number; ++i) {
    EXPECT_EQ(payloads[i].size(), k_segment_size);
    EXPECT_EQ(quic::load<std::uint16_t>(payloads[i].data()), i);
  }
}

class BlockedUdpSocketTest : public testing::TestWithParam<bool> {};

TEST_P(BlockedUdpSocketTest, ContinuesWhereItWasBlocked) {
  std::string missing;
  // The namespace belongs to this thread alone.
  std::thread(resume_after_block, GetParam(), std::ref(missing)).join();
  if (!missing.empty()) GTEST_SKIP() << missing;
}

INSTANTIATE_TEST_SUITE_P(Tap, BlockedUdpSocketTest, testing::Bool(),
                         [](const auto& info) { return info.param ? "Offloaded" : "Plain"; });

}  // namespace
}  // namespace sheaf::io
