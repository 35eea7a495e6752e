#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "channel/forgeries.h"
#include "io/group_membership.h"
#include "io/udp_socket.h"

namespace sheaf::channel_node {

// A member of a channel that forges packets of its source: a process of its own, which has the keys
// that each member gets, and sends from an address of the source's host.
class ForgerProcess {
 public:
  // The calling thread is on the host of the source, and has no threads beside it that hold locks.
  ForgerProcess()
      : shared_(static_cast<Shared*>(mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE,
                                          MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {
    new (shared_) Shared;
    EXPECT_EQ(pipe(pipe_), 0);
    child_ = fork();
    if (child_ == 0) run();
  }
  ~ForgerProcess() {
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
    for (const int end : pipe_) ::close(end);
    munmap(shared_, sizeof(Shared));
  }
  ForgerProcess(const ForgerProcess&) = delete;
  ForgerProcess& operator=(const ForgerProcess&) = delete;

  // Begins to send a forgery in each interval.
  void start(const quic::ChannelOffer& offer, const quic::ChannelKey& key,
             std::chrono::microseconds interval) {
    tell(offer);
    tell(key);
    shared_->interval = interval.count();
  }
  void stop() { shared_->interval = 0; }
  // What each member sees: the number of the source's next packet.
  void follow(quic::PacketNumber next) { shared_->next = next; }
  std::uint64_t sent() const { return shared_->sent; }

 private:
  struct Shared {
    std::atomic<std::int64_t> interval{0};  // in microseconds; 0: nothing is sent
    std::atomic<std::uint64_t> next{0};
    std::atomic<std::uint64_t> sent{0};
  };

  void tell(const quic::ChannelCapsuleValue& value) {
    const quic::WipedBytes bytes = quic::encode_channel_capsule(value);
    const auto head =
        std::array{static_cast<std::uint64_t>(quic::type_of(value)), std::uint64_t{bytes.size()}};
    EXPECT_EQ(write(pipe_[1], head.data(), sizeof head), ssize_t{sizeof head});
    EXPECT_EQ(write(pipe_[1], bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  }
  template <typename Value>
  Value hear() {
    std::array<std::uint64_t, 2> head;
    std::array<std::uint8_t, quic::k_max_channel_capsule> bytes;
    if (read(pipe_[0], head.data(), sizeof head) != ssize_t{sizeof head}) _exit(1);
    if (read(pipe_[0], bytes.data(), head[1]) != static_cast<ssize_t>(head[1])) _exit(1);
    const auto value = quic::decode_channel_capsule(head[0], quic::Bytes(bytes).first(head[1]));
    return std::get<Value>(*value);
  }
  [[noreturn]] void run() {
    const auto offer = hear<quic::ChannelOffer>();
    quic::SeededRandom random(91);
    quic::Forgeries forgeries(offer, random);
    forgeries.add_key(hear<quic::ChannelKey>());
    quic::Address local = offer.source;
    local.port = 0;  // the source itself has the other one
    const auto socket = io::UdpSocket::open(local, {});
    const io::GroupSending sending{.interface = io::interface_with(local).value_or(0)};
    if (!socket || !io::prepare_group_sending((*socket)->descriptor(), offer.group, sending)) {
      _exit(1);
    }
    while (true) {
      const std::int64_t interval = shared_->interval;
      std::this_thread::sleep_for(std::chrono::microseconds(interval > 0 ? interval : 1000));
      if (interval == 0) continue;
      std::vector<std::uint8_t> packet = forgeries.make(shared_->next, {});
      quic::TransmitBatch batch;
      batch.buffer = packet;
      batch.size = batch.segment_size = packet.size();
      batch.path.remote = offer.group;
      if ((*socket)->send(batch) == io::SendOutcome::kSent) ++shared_->sent;
    }
  }

  Shared* shared_;
  int pipe_[2];
  pid_t child_;
};

}  // namespace sheaf::channel_node
