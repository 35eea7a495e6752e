#include "io/service_manager.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <string>
#include <thread>

#include "io/descriptor.h"

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
    std::array<char, CMSG_SPACE(sizeof(int))> control{};
    iovec text{.iov_base = buffer.data(), .iov_len = buffer.size()};
    msghdr message{};
    message.msg_iov = &text;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    const ssize_t size = recvmsg(descriptor_, &message, MSG_CMSG_CLOEXEC);
    if (size < 0) return "nothing";
    const cmsghdr* header = CMSG_FIRSTHDR(&message);
    int passed = -1;
    if (header && header->cmsg_type == SCM_RIGHTS)
      std::memcpy(&passed, CMSG_DATA(header), sizeof passed);
    got = Descriptor(passed);
    return {buffer.data(), static_cast<std::size_t>(size)};
  }

  Descriptor got;  // what came with the latest message

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

TEST(ServiceManager, GetsADescriptorWithAMessage) {
  ManagerSocket manager(own_name("@"));
  const Descriptor sent(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  EXPECT_EQ(pass_to_service_manager(own_name("@"), "FDSTORE=1", sent.number(), 1'000), 0);
  EXPECT_EQ(manager.receive(), "FDSTORE=1");
  struct stat ours {};
  struct stat theirs {};
  ASSERT_EQ(fstat(sent.number(), &ours), 0);
  ASSERT_EQ(fstat(manager.got.number(), &theirs), 0);
  EXPECT_EQ(theirs.st_ino, ours.st_ino);
  EXPECT_EQ(pass_to_service_manager(own_name("@"), "FDSTOREREMOVE=1", -1, 1'000), 0);
  EXPECT_EQ(manager.receive(), "FDSTOREREMOVE=1");
  EXPECT_FALSE(manager.got.open());
}

TEST(ServiceManager, IsWaitedForAsLongAsTheCallerWants) {
  ManagerSocket manager(own_name("@"));
  // Nobody reads the message.
  EXPECT_EQ(await_service_manager(own_name("@"), 20), ETIMEDOUT);
  while (notify_service_manager(own_name("@"), "WATCHDOG=1") == 0)
    ;
  EXPECT_EQ(pass_to_service_manager(own_name("@"), "FDSTORE=1", -1, 20), EAGAIN);
  EXPECT_EQ(await_service_manager(own_name("@"), 20), EAGAIN);
}

TEST(ServiceManager, IsWaitedForWhateverSignalsCome) {
  ManagerSocket manager(own_name("@"));
  struct sigaction before {};
  struct sigaction action {};
  action.sa_handler = [](int) {};
  ASSERT_EQ(sigaction(SIGUSR1, &action, &before), 0);
  {
    const std::jthread signals([waiting = pthread_self()](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
        pthread_kill(waiting, SIGUSR1);
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
      }
    });
    EXPECT_EQ(await_service_manager(own_name("@"), 40), ETIMEDOUT);
    while (notify_service_manager(own_name("@"), "WATCHDOG=1") == 0)
      ;
    EXPECT_EQ(pass_to_service_manager(own_name("@"), "FDSTORE=1", -1, 40), EAGAIN);
  }
  EXPECT_EQ(sigaction(SIGUSR1, &before, nullptr), 0);
}

TEST(ServiceManager, HasActedOnAllOnceItClosesWhatCameLast) {
  ManagerSocket manager(own_name("@"));
  EXPECT_EQ(notify_service_manager(own_name("@"), "FDSTOREREMOVE=1"), 0);
  std::jthread acting([&manager] {
    while (manager.receive() != "BARRIER=1") std::this_thread::yield();
    manager.got = Descriptor();
  });
  EXPECT_EQ(await_service_manager(own_name("@"), 30'000), 0);
}

TEST(ServiceManager, NamesThatAreNoneAreRefused) {
  EXPECT_EQ(notify_service_manager("", "READY=1"), EINVAL);
  EXPECT_EQ(notify_service_manager("@", "READY=1"), EINVAL);
  EXPECT_EQ(notify_service_manager("vsock:2:1234", "READY=1"), EINVAL);
  EXPECT_EQ(notify_service_manager("/" + std::string(200, 'x'), "READY=1"), ENAMETOOLONG);
  EXPECT_EQ(notify_service_manager(own_name("/tmp/nobody-"), "READY=1"), ENOENT);
  EXPECT_EQ(notify_service_manager(own_name("@nobody-"), "READY=1"), ECONNREFUSED);
  EXPECT_EQ(await_service_manager(own_name("@nobody-"), 1'000), ECONNREFUSED);
}

}  // namespace
}  // namespace sheaf::io
