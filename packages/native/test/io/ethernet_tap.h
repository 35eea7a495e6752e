#pragma once

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

namespace sheaf::io {

inline constexpr const char* k_tap_interface = "sheaf0";
inline constexpr const char* k_tap_local = "10.99.0.1";
inline constexpr const char* k_tap_peer = "10.99.0.2";

// An Ethernet interface in a network namespace of the calling thread. The test receives its frames.
// While the peer's hardware address is unknown, the kernel keeps what is sent to the peer, and the
// buffer of a socket fills up.
class EthernetTap {
 public:
  ~EthernetTap() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }

  // Returns what is missing on this machine, or nothing.
  std::string set_up() {
    if (unshare(CLONE_NEWNET) != 0) return "no right to make a network namespace";
    descriptor_ = ::open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (descriptor_ < 0) return "no /dev/net/tun";
    ifreq request = interface_request();
    request.ifr_flags = IFF_TAP | IFF_NO_PI;
    if (ioctl(descriptor_, TUNSETIFF, &request) != 0) return "no TAP interface";
    request = interface_request();
    set_address(request.ifr_addr, k_tap_local);
    configure(SIOCSIFADDR, &request);
    set_address(request.ifr_netmask, "255.255.255.0");
    configure(SIOCSIFNETMASK, &request);
    request = interface_request();
    request.ifr_flags = IFF_UP | IFF_RUNNING;
    configure(SIOCSIFFLAGS, &request);
    std::strcpy(request.ifr_name, "lo");
    configure(SIOCSIFFLAGS, &request);
    return {};
  }

  // Removes the address and adds it again, as when a cable is unplugged and plugged in.
  void set_address_present(bool present) {
    ifreq request = interface_request();
    set_address(request.ifr_addr, present ? k_tap_local : "0.0.0.0");
    configure(SIOCSIFADDR, &request);
  }

  void tell_hardware_address() {
    arpreq request{};
    set_address(request.arp_pa, k_tap_peer);
    request.arp_ha.sa_family = ARPHRD_ETHER;
    request.arp_ha.sa_data[0] = 2;  // locally administered
    request.arp_flags = ATF_COM | ATF_PERM;
    std::strcpy(request.arp_dev, k_tap_interface);
    configure(SIOCSARP, &request);
  }

  // Returns the IPv4 packets with UDP in them that the peer got, until none comes for a while.
  std::vector<std::vector<std::uint8_t>> read_packets() {
    constexpr std::size_t k_ethernet = 14;
    std::vector<std::vector<std::uint8_t>> packets;
    std::uint8_t frame[2048];
    pollfd readable{descriptor_, POLLIN, 0};
    while (poll(&readable, 1, 300) == 1) {
      const ssize_t length = ::read(descriptor_, frame, sizeof frame);
      const bool is_udp = length > static_cast<ssize_t>(k_ethernet + k_headers) &&
                          frame[12] == 0x08 && frame[13] == 0x00 &&
                          frame[k_ethernet + 9] == IPPROTO_UDP;
      if (is_udp) packets.emplace_back(frame + k_ethernet, frame + length);
    }
    return packets;
  }

  // Returns what these packets carry.
  std::vector<std::vector<std::uint8_t>> read_payloads() {
    std::vector<std::vector<std::uint8_t>> payloads = read_packets();
    for (auto& packet : payloads) packet.erase(packet.begin(), packet.begin() + k_headers);
    return payloads;
  }

 private:
  static constexpr long k_headers = 20 + 8;  // IPv4 and UDP

  static ifreq interface_request() {
    ifreq request{};
    std::strcpy(request.ifr_name, k_tap_interface);
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

}  // namespace sheaf::io
