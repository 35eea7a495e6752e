#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "channel_node/channel_end.h"
#include "channel_node/group_reads.h"
#include "channel_request/receiver_request.h"
#include "io/deadline_timer.h"
#include "io/group_membership.h"
#include "io/sleep_watch.h"
#include "io/watched_socket.h"

namespace sheaf::channel_node {

struct ReceiverSettings {
  quic::ChannelLimits limits;
  bool joins = true;  // otherwise copies by unicast alone
  // Sources of groups that may be joined, beside the host at the other end of the connection. A
  // server could otherwise make this host join the groups of others.
  std::vector<quic::Address> sources;
  unsigned interface = 0;  // index; 0: the one that leads to the source
  // From a join that failed, or after which the group was silent, to the next one. There may be a
  // way to the group by then.
  quic::Duration join_again = std::chrono::seconds(10);
};

// The receiver's side of a request, with the socket of its group
class ReceiverEnd final : public ChannelEnd {
 public:
  static quic::Result<std::unique_ptr<ReceiverEnd>, io::SocketError> open(
      uv_loop_t* loop, const Carrier& carrier, const channel_request::ChannelRequest::Place& place,
      const ReceiverSettings& settings, quic::Random& random);

  channel_request::ReceiverRequest& request() override { return request_; }
  void on_turn(Time now) override;
  ReceiverEnd* receiver() override { return this; }
  void leave(Time now);

  // Returns what happened to groups of objects, in order.
  std::optional<quic::GroupEvent> poll_event();
  // Returns where this side listens when that has changed since the last call.
  std::optional<quic::ListenState> take_state();
  // Returns true once when the request is over.
  bool take_over() { return request_.over() && !std::exchange(told_over_, true); }
  // Copies bytes of a group in order; returns how many.
  std::size_t read(quic::StreamId group, quic::MutableBytes out);
  // Why the group of packets could not be joined; empty when it was, or need not be.
  const std::string& join_error() const { return join_error_; }

 private:
  ReceiverEnd(uv_loop_t* loop, const Carrier& carrier,
              const channel_request::ChannelRequest::Place& place, const ReceiverSettings& settings,
              quic::Random& random);
  // Does what follows from packets, capsules and time.
  void settle(Time now);
  // Joins the group and leaves it, as the receiver wants.
  void follow_group(Time now);
  // Whether packets of the group come
  bool hears_group();
  // Returns why it failed, or nothing. The socket may stay when it is a member already.
  std::string join(bool keeps_socket);
  bool may_join(const quic::Address& source) const;
  void on_packets();
  // Reads what the group has brought, sets when to read again, and returns the time then.
  Time read_group();
  void close_socket();
  void set_timer();
  void on_due();
  void wake() { carrier_.loop.wake(carrier_.driver); }

  uv_loop_t* loop_;
  Carrier carrier_;
  ReceiverSettings settings_;
  channel_request::ReceiverRequest request_;
  std::uint64_t followed_ = 0;  // offers
  bool wants_group_ = false;
  std::unique_ptr<io::WatchedSocket> socket_;
  io::GroupMembership joined_;  // of the socket
  GroupReads reads_;
  Time read_at_ = quic::k_never;  // the end of a pause in which the socket is not read
  Time join_at_ = quic::k_never;  // when to join next
  std::string join_error_;
  io::SleepWatch sleep_{io::time_asleep()};
  std::optional<quic::ListenState> told_state_;
  bool told_over_ = false;
  std::unique_ptr<io::DeadlineTimer> timer_;
};

}  // namespace sheaf::channel_node
