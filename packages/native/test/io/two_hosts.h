#pragma once

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

namespace sheaf::io {

// Two network namespaces with a cable between them. The calling thread moves into one or the other,
// and its sockets stay where they were made.
class TwoHosts {
 public:
  ~TwoHosts() {
    for (const int descriptor : hosts_) {
      if (descriptor >= 0) ::close(descriptor);
    }
  }

  // Returns what is missing on this machine, or nothing. The first host has the addresses .1 and
  // .3, the second one .2, in 10.98.0.0/24 and fd98::/64.
  std::string set_up() {
    for (int& host : hosts_) {
      if (unshare(CLONE_NEWNET) != 0) return "no right to make a network namespace";
      host = ::open("/proc/thread-self/ns/net", O_RDONLY);
      if (host < 0) return "no /proc";
    }
    const std::string peer = "/proc/self/fd/" + std::to_string(hosts_[0]);
    if (!run("ip link add cable type veth peer name cable netns " + peer))
      return "no veth, or no ip";
    if (!configure({"2"})) return "no addresses";
    enter(0);
    return configure({"1", "3"}) ? "" : "no addresses";
  }

  void enter(int host) { static_cast<void>(setns(hosts_[host], CLONE_NEWNET)); }

 private:
  static bool run(const std::string& command) {
    return std::system((command + " 2>/dev/null").c_str()) == 0;
  }
  static bool configure(std::initializer_list<std::string> numbers) {
    bool done = run("ip link set lo up") && run("ip link set cable up");
    for (const std::string& number : numbers) {
      done = done && run("ip addr add 10.98.0." + number + "/24 dev cable") &&
             run("ip addr add fd98::" + number + "/64 dev cable nodad");
    }
    return done;
  }

  int hosts_[2] = {-1, -1};
};

}  // namespace sheaf::io
