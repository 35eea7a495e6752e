#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "channel/held_networks.h"
#include "channel/source.h"
#include "channel_authentication/helper_thread.h"
#include "channel_authentication/key_chain.h"
#include "channel_node/channel_end.h"
#include "channel_node/copy_share.h"
#include "channel_request/source_request.h"
#include "io/deadline_timer.h"
#include "io/group_membership.h"
#include "io/loop_signal.h"
#include "io/udp_socket.h"

namespace sheaf::channel_node {

struct SourceSettings {
  // Without a family: copies by unicast alone. Its port is that of the group.
  quic::Address group;
  quic::Address source;  // from which packets to the group come; an address of this host
  // Sends them to the group from the source, which is its own address then. Without a family: this
  // host sends to the group itself.
  quic::Address relay;
  unsigned interface = 0;  // index; 0: the one that has the source's address
  int hops = 1;
  std::uint16_t packet_size = 1300;
  std::uint64_t rate = 1'250'000;  // bytes per second
  std::uint32_t reach = 8192;      // packets
  quic::Duration deadline = std::chrono::seconds(1);
  quic::Duration report_interval = std::chrono::milliseconds(100);
  quic::Duration key_interval = std::chrono::seconds(10);
  bool new_key_on_leaving = false;
  std::uint64_t slowest_rate = 0;        // bytes per second; 0: the rate never changes
  std::uint64_t copy_rate = 12'500'000;  // bytes per second, to all receivers together
  std::size_t max_receivers = 1000;
  quic::AuthenticationScheme scheme = quic::AuthenticationScheme::kNone;
  // Of the schemes that sign. Without one, the channel has a key of its own. Not kept.
  std::optional<quic::Wiped<quic::Ed25519Seed>> seed;
  bool repairs = false;  // where there is a group, and packets have no trailer
};

class SourceEnd;

// What makes packets of a channel provable: the authenticator of a scheme, and all that it uses
class ChannelProof {
 public:
  ChannelProof(const SourceSettings& settings, const quic::ChannelOffer& offer,
               quic::Random& random);
  quic::Authenticator& authenticator() { return *authenticator_; }

 private:
  std::unique_ptr<quic::Authenticator> make_signer(const SourceSettings& settings,
                                                   const quic::ChannelOffer& offer,
                                                   quic::Random& random);
  std::unique_ptr<quic::Authenticator> make_timed(const quic::ChannelOffer& offer,
                                                  quic::Random& random);

  std::optional<quic::SigningKey> key_;
  std::optional<quic::KeyChain> chain_;         // of the scheme `timed`
  std::unique_ptr<quic::HelperThread> helper_;  // hashes and signs flights
  std::unique_ptr<quic::Authenticator> authenticator_;
};

// A channel that this node is the source of, on a libuv loop: sends packets to the group, and
// copies on the requests of receivers. Requests may be on connections of other threads, which lock
// the channel for each of their turns. What is not for all threads says so.
class SourceNode {
 public:
  // `on_room` is called when `write` takes bytes again that it did not. `random` must outlive this
  // object.
  static quic::Result<std::unique_ptr<SourceNode>, io::SocketError> open(
      uv_loop_t* loop, const SourceSettings& settings, quic::Random& random,
      std::function<void()> on_room);

  // Locks the channel. Needed for these where requests are on connections of other threads.
  std::unique_lock<std::mutex> hold() { return std::unique_lock(mutex_); }
  const quic::ChannelOffer& offer() const { return source_.offer(); }
  quic::ChannelSource& source() { return source_; }
  // Networks whose clients may not join now, or soon
  const quic::HeldNetworks& held_networks() const { return networks_; }
  std::size_t receivers() const;
  // Packets that the system did not take
  std::uint64_t unsent() const { return unsent_; }

  // Withdraws the channel and stops at once. libuv frees the timer later and then calls `done`. For
  // the thread that opened the channel, as what follows.
  void close(std::function<void()> done);
  bool closed() const { return closed_; }  // for all threads

  std::optional<quic::StreamId> open_group();
  // As those of ChannelSource, and sends what is due.
  quic::SourceLog::Written write(quic::StreamId group, quic::Bytes data, bool fin);
  bool reset(quic::StreamId group, std::uint64_t error);

 private:
  friend class SourceEnd;

  // The ends on connections of one thread
  struct Crew {
    std::thread::id thread;
    // Wakes the thread. Opened and closed by it. Null when the system has no descriptor left.
    std::unique_ptr<io::LoopSignal> signal = nullptr;
    std::vector<SourceEnd*> ends = {};
    std::size_t first = 0;  // the end that sent first in the last run
    CopyShare share = {};   // until the next run
  };

  SourceNode(const quic::SourceConfig& config, const SourceSettings& settings, quic::Random& random,
             std::function<void()> on_room);
  // These are called with the lock.
  void add(SourceEnd& end);
  void remove(SourceEnd& end);
  Crew& crew_of(io::EndpointLoop& loop);
  Crew& home() const { return *crews_.front(); }
  // Of this thread. Null: none.
  Crew* own_crew() const;
  bool is_home() const { return std::this_thread::get_id() == home().thread; }
  void go_on(Crew& crew, Time now);
  void wake_others();

  // Gives each crew its share of the copies that the budget permits now. What one leaves is divided
  // anew in the next run.
  void share_copies(Time now);
  // Lets ends of a crew send within its share.
  template <typename Work>
  void within_share(Crew& crew, Work&& work) {
    source_.copy_budget().permit(crew.share.copies);
    work();
    crew.share.copies = source_.copy_budget().permitted();
  }
  Time next_share_time();

  // Sends all that is due now to the group and to receivers.
  void run(Time now);
  // Another thread has woken this one.
  void on_signal();
  void send_to_group(Time now);
  void send_repairs(Time now);
  void send(quic::Bytes packets, std::size_t segment_size, Time now);
  bool takes_room();
  // Remembers until the next run that an end waits for the budget of copies.
  void note_budget(SourceEnd& end);
  void set_timer();

  ChannelProof proof_;
  quic::ChannelSource source_;
  quic::HeldNetworks networks_;
  std::function<void()> on_room_;
  quic::Address destination_;              // the group, or the relay that sends to it
  std::unique_ptr<io::UdpSocket> socket_;  // null without a group
  std::unique_ptr<io::DeadlineTimer> timer_;
  Time timer_at_ = quic::k_never;  // what the timer is set to
  std::mutex mutex_;               // of all but what has its own
  std::vector<std::unique_ptr<Crew>>
      crews_;                      // the first is that of the thread that opened the channel
  bool waits_for_budget_ = false;  // some of the ends
  Time shared_at_{};
  std::uint64_t unsent_ = 0;
  std::atomic<bool> closed_ = false;
  // Packets that had been sent when bytes found no room
  std::optional<std::uint64_t> refused_at_;
};

// The source's side of a receiver's request
class SourceEnd final : public ChannelEnd {
 public:
  // `client` is the address from which the receiver opened its connection. The channel may be of
  // another thread.
  SourceEnd(const Carrier& carrier, const channel_request::ChannelRequest::Place& place,
            const std::shared_ptr<SourceNode>& node, const quic::Address& client, Time now)
      : SourceEnd(carrier, place, node, client, now, node->hold()) {}
  ~SourceEnd() override;

  channel_request::SourceRequest& request() override { return request_; }
  bool on_event(const http3::SessionEvent& event, Time now) override;
  void on_turn(Time now) override;
  const SourceNode* source() const override { return node_.get(); }

 private:
  friend class SourceNode;

  SourceEnd(const Carrier& carrier, const channel_request::ChannelRequest::Place& place,
            const std::shared_ptr<SourceNode>& node, const quic::Address& client, Time now,
            const std::unique_lock<std::mutex>& held);
  // Locks the channel, and withdraws it here when it is over.
  std::unique_lock<std::mutex> enter();
  // Sends copies and keys that are due because the channel went on.
  void go_on(Time now);
  void withdraw();
  void wake_if_queued();
  // Tells once that the receiver has left.
  void tell_left(Time now);

  Carrier carrier_;
  std::shared_ptr<SourceNode> node_;
  quic::NetworkKey network_;
  Time joined_;  // quic::k_never: it has left, which was told
  channel_request::SourceRequest request_;
};
// Its part of the 2 KiB that a receiver may take beside its connection (SourceMemory tests)
static_assert(sizeof(SourceEnd) <= sizeof(channel_request::SourceRequest) + 64);

}  // namespace sheaf::channel_node
