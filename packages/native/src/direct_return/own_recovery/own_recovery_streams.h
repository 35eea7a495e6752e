#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>

#include "direct_return/grant.h"
#include "direct_return/orphan.h"
#include "direct_return/own_recovery/ack_reports.h"
#include "direct_return/own_recovery/return_paths.h"
#include "direct_return/own_recovery/shared_window.h"
#include "direct_return/run_orders.h"
#include "direct_return/sender_watch.h"

namespace sheaf::quic {

// When a backend may begin to send.
enum class ReturnStart : std::uint8_t {
  kWhenAccepted,  // when the gateway has heard that it accepts
  // With the grant, up to a first flight of bytes, the first of the stream among them. Whoever goes
  // on without its answer must send the same bytes.
  kAtOnce,
};

// The part of DelegatedStreams for streams whose backend has packet numbers and recovery of its
// own, on a path of the connection that it was lent (docs/internals/direct-return.md). The gateway
// passes on what the client acknowledges, permits bytes of streams as flow control does, and
// divides one congestion window.
class OwnRecoveryStreams final : public GrantListener, private ReturnPathListener {
 public:
  // The policy belongs to the connection.
  OwnRecoveryStreams(ConnectionExtension connection, ReturnPaths& policy);
  OwnRecoveryStreams(const OwnRecoveryStreams&) = delete;
  ~OwnRecoveryStreams() override;

  // As those of DelegatedStreams. Nothing: there is no path for this backend.
  std::optional<Grant> offer(StreamId stream, RunOrders& backend, ReturnStart start, Time now);
  bool contains(StreamId stream) const { return streams_.contains(stream); }
  bool may_accept(StreamId stream, std::uint64_t begin, std::uint64_t end) const;
  [[nodiscard]] bool accept(StreamId stream, std::uint64_t end, Time now);
  void revoke(StreamId stream);
  std::optional<OrphanedStream> poll_orphan();
  void on_news(std::function<void()> news) { news_ = std::move(news); }
  void flush(Time now);
  Time next_timeout() const;
  void on_timeout(Time now);
  std::size_t streams() const { return streams_.size(); }
  // Nothing is lent.
  bool idle() const { return paths_.empty() && orphans_.empty(); }

  void on_progress(RunOrders&, const Progress&, Time) override {}
  void on_grant_ended(RunOrders& backend, const GrantEnded& ended, Time now) override;
  void on_state(RunOrders& backend, const SenderState& state, Time now) override;
  void on_delivered(RunOrders& backend, const Delivered& delivered, Time now) override;

 private:
  // Messages are repeated so often until they are confirmed, and streams looked at.
  static constexpr Duration k_repeat_interval = 5ms;
  // A path without streams is given back after this time: a path id is used up then.
  static constexpr Duration k_keep_path = 10s;

  struct LentPath {
    GrantId id = 0;             // in the session
    std::uint64_t session = 0;  // RunOrders::number()
    RunOrders* orders = nullptr;
    std::size_t streams = 0;
    std::size_t accepted = 0;  // of these
    bool known = false;        // the backend knows the path
    Time idle_since{};         // while there are no streams
    AckReports reports;
    SenderWatch watch;
    SenderState state;
    ConnectionId client_id;  // that it was told
    PacketNumber noted = 0;  // numbers below are counted against the key
    // What it was told last, and when
    std::uint64_t generation = 0;
    PacketNumber first_number = 0;
    Time phase_told_at = Time::min();
    Time address_told_at = Time::min();
  };
  struct Delegated {
    PathId path;
    GrantId grant = 0;
    bool accepted = false;
    std::uint64_t before = 0;  // numbered before the offer
    std::uint64_t begin = 0;   // of the bytes that the backend sends, once it has accepted
    std::uint64_t end = 0;     // of the response
    std::uint64_t limit = 0;   // that the backend was told
  };
  using Paths = std::map<PathId, LentPath>;
  using Streams = std::map<StreamId, Delegated>;

  void on_path_acknowledged(PathId path, const AckFrame& frame, Time now) override;
  void on_path_abandoned(PathId path, Time now) override;

  Paths::iterator path_for(RunOrders& backend, Time now);
  Paths::iterator find_path(const RunOrders& backend, GrantId id);
  Streams::iterator find_stream(const RunOrders& backend, GrantId id);
  Path* first_path() const;
  Duration probe_timeout() const;
  Duration round_trip(const LentPath& lent) const;
  void tell_news() const {
    if (news_) news_();
  }
  void close(Streams::iterator stream);
  void withdraw(StreamId stream, const Delegated& delegated);
  void orphan(Streams::iterator stream, OrphanedStream::Reason reason, std::uint64_t code);
  void lose(Paths::iterator path, OrphanedStream::Reason reason, bool abandoned, Time now);
  void give_back_idle(Time now);
  void lose_all(OrphanedStream::Reason reason, Time now);
  void note_keys(PathId path, LentPath& lent, const SenderState& state, Time now);
  bool is_id_told(PathId path, const LentPath& lent) const;
  void note_address();
  void tell_changes(PathId path, LentPath& lent, Time now);
  void look_at_streams(Time now);
  void tell_report(PathId path, LentPath& lent, Time now);
  void tell_all_shares();

  ConnectionExtension connection_;
  ReturnPaths& policy_;
  SharedWindow window_;
  Paths paths_;
  Streams streams_;
  std::deque<OrphanedStream> orphans_;
  AddressChange address_;  // the present one; its connection and id depend on the path
  std::optional<PacketNumber> own_acknowledged_;  // the largest on path 0
  bool streams_changed_ = false;
  Time now_ = Time::min();        // of the last turn
  Time looked_at_ = Time::min();  // at the streams
  Time look_at_ = k_never;        // again
  std::function<void()> news_;
};

}  // namespace sheaf::quic
