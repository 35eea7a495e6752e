#pragma once

#include <array>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "connection/connection_extension.h"
#include "direct_return/arrival_order.h"
#include "direct_return/grant.h"
#include "direct_return/ordered_runs.h"
#include "direct_return/own_recovery/own_recovery_streams.h"
#include "direct_return/run_orders.h"
#include "direct_return/sender_watch.h"
#include "util/result.h"

namespace sheaf::quic {

// Why a connection cannot have a stream that a backend sends.
enum class OfferRefusal : std::uint8_t {
  kUnconfirmed,  // the handshake is not confirmed, so the client may be unable to open such packets
  kPaths,        // the client has a second path, or abandoned the first
  kBackends,     // too many other backends send for the connection
  kTaken,        // the stream has a grant already
  kGrants,       // as many streams as may be have a grant
};

// The gateway's side of direct server return for one connection: which backend sends which stream,
// what backends are told, and what follows from what they say. The connection keeps numbers, flow
// control, priorities, losses and congestion control.
class DelegatedStreams final : public GrantListener {
 public:
  // ACKNOWLEDGED leaves at most so often, and so do PHASE and ADDRESS, until they are confirmed.
  static constexpr Duration k_repeat_interval = 5ms;
  // An offer that no backend has accepted ends after this time. Whoever asks the backend gives up
  // much sooner, so this is for offers that were forgotten.
  static constexpr Duration k_longest_offer = 5min;
  // Grants at a time: as many as a page has requests. Each costs a backend keys, memory, and mostly
  // a file that is open.
  static constexpr std::size_t k_max_streams = 128;

  // `number` names the connection. No other one of this process ever has it.
  DelegatedStreams(ConnectionExtension connection, std::uint64_t number)
      : connection_(connection), number_(number) {}
  DelegatedStreams(const DelegatedStreams&) = delete;
  ~DelegatedStreams() override;

  // --- what the gateway's application decides ---------------------------------------------------
  // Offers the rest of a stream to a backend, whose session outlives the grant. `own` is when a
  // backend begins that takes paths with recovery of its own; a client that agreed gets the rest on
  // such a path. Any other backend gets a first packet, if nothing of the stream was written and
  // the connection is quiet (`FirstPackets`).
  Result<Grant, OfferRefusal> offer(StreamId stream, RunOrders& backend, Time now,
                                    std::optional<ReturnStart> own = std::nullopt);
  // Returns how many bytes of the stream the backend sends when it accepts, without an order; 0:
  // none. The head of the response takes the place of the first of them.
  std::uint64_t first_bytes(StreamId stream) const;
  // The backend has accepted, and its response ends before so many bytes. It did not send them.
  void drop_first(StreamId stream, Time now);
  // Returns whether `accept` would succeed if the bytes of the backend began at `begin`. To be
  // asked before the head of the response is written.
  bool may_accept(StreamId stream, std::uint64_t begin, std::uint64_t end) const;
  // The backend has accepted, and sends all further bytes of the stream up to `end`, which is that
  // of the response. There is at least one. Returns false, and takes the grant back, when the
  // stream or the grant is gone.
  [[nodiscard]] bool accept(StreamId stream, std::uint64_t end, Time now);
  // Takes the grant back. Nobody has the stream's further bytes then. If the backend may have sent
  // a first packet and was not heard, `doubt` says when another one may answer.
  void revoke(StreamId stream);
  // Takes the grant back: the backend has declined, or was never asked. It sent nothing.
  void decline(StreamId stream, Time now);
  enum class Doubt : std::uint8_t {
    kNone,   // the client has nothing of the stream
    kOpen,   // it may have, or get, a first packet that nobody else knows: ask again later
    kTaken,  // it has that, so that the stream can only be reset (RFC 9000 §2.2)
  };
  Doubt doubt(StreamId stream, Time now);

  using Orphan = OrphanedStream;
  std::optional<Orphan> poll_orphan();
  // Called when the connection may have to send now, or has an orphan.
  void on_news(std::function<void()> news) {
    news_ = std::move(news);
    if (own_) own_->on_news(news_);
  }

  // --- with the connection's turns --------------------------------------------------------------
  // Called after the connection has sent what it may: hands its orders to the backends, and tells
  // it the limits of the next ones.
  void flush(Time now);
  // Returns when to call `on_timeout`.
  Time next_timeout() const;
  void on_timeout(Time now);

  void on_progress(RunOrders& backend, const Progress& progress, Time now) override;
  void on_void_run(RunOrders& backend, GrantId grant, PacketNumber first, Time now) override;
  void on_grant_ended(RunOrders& backend, const GrantEnded& ended, Time now) override;

  const ArrivalOrder& arrival_order() const { return order_; }
  std::size_t streams() const { return delegated_.size() + (own_ ? own_->streams() : 0); }
  // Returns whether neither `flush` nor time change anything before the next offer, and no backend
  // has packets in flight.
  bool idle() const;
  // Lets an idle connection go on without this object.
  void leave(Time now);

 private:
  using Sender = ArrivalOrder::Sender;
  struct Backend {
    std::uint64_t session = 0;    // RunOrders::number(). 0: the index was never used
    RunOrders* orders = nullptr;  // while it has grants
    std::size_t grants = 0;
    std::size_t accepted = 0;  // of these
    SenderWatch watch;
    OrderedRuns runs;           // newest, for those that are refused
    std::uint64_t samples = 0;  // of its round trip that were taken
    PacketNumber reached = 0;   // one above its highest number that the client acknowledged
    // What it was told last
    std::uint64_t generation = 0;   // of keys
    PacketNumber first_number = 0;  // of that generation
    Time phase_told_at = Time::min();
    std::uint32_t address = 0;  // AddressChange::number
    Time address_told_at = Time::min();
  };
  // What a backend sends when it accepts
  struct First {
    FirstPacket packet;
    Duration lifetime{};
  };
  struct Delegated {
    Sender sender = 0;
    GrantId grant = 0;
    Time offered_at{};
    bool accepted = false;
    // What the backend surely has as long as it has the grant
    std::uint64_t generation = 0;
    std::uint32_t address = 0;
    std::uint64_t available = 0;     // end of the bytes that the backend has
    std::uint64_t appended = 0;      // end of those that the stream knows of
    std::uint64_t end = 0;           // of the response
    std::uint64_t acknowledged = 0;  // what the backend was told
    std::optional<First> first;      // until its run is settled like others
  };
  // A stream whose grant has ended before the backend was heard
  struct Doubtful {
    First first;
    Orphan::Reason reason = Orphan::Reason::kGone;
    std::uint64_t code = 0;
    std::optional<Time> since;                // the application does not wait for the backend
    PacketNumber asked = k_no_packet_number;  // of a PING after the packet's lifetime
  };
  using Delegations = std::map<StreamId, Delegated>;

  Duration margin();
  // The part for clients that have paths for backends; null for others.
  OwnRecoveryStreams* own_recovery();
  std::optional<Grant> offer_own(StreamId stream, RunOrders& backend, ReturnStart start, Time now);
  bool is_own(StreamId stream) const { return own_ && own_->contains(stream); }
  bool runs_possible() const;
  Path* first_path();
  Path& path();  // while runs are possible
  std::optional<Sender> sender_for(RunOrders& backend, Time now);
  Sender sender_of(const RunOrders& backend) const;
  void tell_news() const {
    if (news_) news_();
  }
  Delegations::iterator find(Sender sender, GrantId grant);
  std::optional<First> reserve_first(StreamId stream, Sender sender, Time now);
  // The backend did not send its first packet.
  void take_back(StreamId stream, const First& first, Time now);
  void settle_sent(StreamId stream, const FirstPacket& first, std::uint64_t end, Time now);
  void forget(StreamId stream, const First& first);
  bool accept_late(StreamId stream, std::uint64_t end, Time now);
  // Keeps the first packet of a grant that ends before its backend was heard.
  void note_doubt(Delegations::iterator delegation, Orphan::Reason reason, std::uint64_t code);
  void forget_doubts();
  void on_refused(StreamId stream, Delegated& delegated, PacketNumber first, Time now);
  void append(StreamId stream, Delegated& delegated);
  void close(Delegations::iterator delegation);
  void orphan(Delegations::iterator delegation, Orphan::Reason reason, std::uint64_t code);
  void lose(Sender sender, Orphan::Reason reason, Time now);
  void end_old_offers(Time now);
  void abandon(Sender sender, Time now);
  void take_samples(Time now);
  // Returns the longest of the waits.
  Duration set_limits(Time now);
  void note_address();
  void tell_address(Backend& backend, Time now);
  void tell_phase(Backend& backend, PacketNumber first, Time now);
  void tell_changes(Time now);
  void hand_over(const RunOrder& order, Duration margin, Time now);
  void tell_acknowledged(Time now);
  void wind_down(Time now);

  ConnectionExtension connection_;
  std::uint64_t number_;
  std::array<Backend, ArrivalOrder::k_max_senders> backends_{};  // the first is this node
  Delegations delegated_;
  std::map<StreamId, Doubtful> doubts_;
  std::deque<Orphan> orphans_;
  AddressChange address_;      // the present one
  Time acknowledged_due_{};    // when `tell_acknowledged` may look at the streams again
  Time look_again_ = k_never;  // when `flush` has something to do, also without a turn
  ArrivalOrder order_;
  bool limited_ = false;  // the connection has limits of runs
  std::unique_ptr<OwnRecoveryStreams> own_;
  std::function<void()> news_;
};

}  // namespace sheaf::quic
