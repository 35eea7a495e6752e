#include "io/service_manager.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string>

namespace sheaf::io {
namespace {

// The end of a service manager: a bound datagram socket.
class ManagerSocket {
 public:
  // `name` as in NOTIFY_SOCKET.
  explicit ManagerSocket(const std::string& name) : name_(name) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, name.data(), name.size());
    if (name[0] == '@') address.sun_path[0] = '\0';
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
    descriptor_ = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    EXPECT_EQ(bind(descriptor_, reinterpret_cast<const sockaddr*>(&address), size), 0);
  }

  ~ManagerSocket() {
    close(descriptor_);
    if (name_[0] == '/') unlink(name_.c_str());
  }

  std::string receive() {
    std::array<char, 256> buffer{};
    const ssize_t size = recv(descriptor_, buffer.data(), buffer.size(), 0);
    return size < 0 ? "nothing" : std::string(buffer.data(), static_cast<std::size_t>(size));
  }

 private:
  std::string name_;
  int descriptor_ = -1;
};

std::string own_name(const char* prefix) {
  return std::string(prefix) + "sheaf-notify-" + std::to_string(getpid());
}

TEST(ServiceManager, GetsMessagesAtAPath) {
  ManagerSocket manager(own_name("/tmp/"));
  EXPECT_EQ(notify_service_manager(own_name("/tmp/"), "READY=1\nSTATUS=serving"), 0);
  EXPECT_EQ(manager.receive(), "READY=1\nSTATUS=serving");
}

TEST(ServiceManager, GetsMessagesAtAnAbstractName) {
  ManagerSocket manager(own_name("@"));
  EXPECT_EQ(notify_service_manager(own_name("@"), "STOPPING=1"), 0);
  EXPECT_EQ(manager.receive(), "STOPPING=1");
}

TEST(ServiceManager, IsNotWaitedForWhenItDoesNotRead) {
  ManagerSocket manager(own_name("@"));
  int error = 0;
  for (int i = 0; i < 100'000 && error == 0; ++i)
    error = notify_service_manager(own_name("@"), "WATCHDOG=1");
  EXPECT_EQ(error, EAGAIN);
}

TEST(ServiceManager, NamesThatAreNoneAreRefused) {
  EXPECT_EQ(notify_service_manager("", "READY=1"), EINVAL);
  EXPECT_EQ(notify_service_manager("@", "READY=1"), EINVAL);
  EXPECT_EQ(notify_service_manager("vsock:2:1234", "READY=1"), EINVAL);
  EXPECT_EQ(notify_service_manager("/" + std::string(200, 'x'), "READY=1"), ENAMETOOLONG);
  EXPECT_EQ(notify_service_manager(own_name("/tmp/nobody-"), "READY=1"), ENOENT);
  EXPECT_EQ(notify_service_manager(own_name("@nobody-"), "READY=1"), ECONNREFUSED);
}

}  // namespace
}  // namespace sheaf::io
