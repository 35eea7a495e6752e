#pragma once

#include <array>
#include <deque>
#include <map>
#include <optional>
#include <utility>

#include "connection/connection_extension.h"
#include "direct_return/arrival_order.h"
#include "direct_return/grant.h"
#include "direct_return/ordered_runs.h"
#include "direct_return/run_orders.h"
#include "direct_return/sender_watch.h"
#include "util/result.h"

namespace sheaf::quic {

// Why a connection cannot have a stream that a backend sends.
enum class OfferRefusal : std::uint8_t {
  kUnconfirmed,  // the handshake is not confirmed, so the client may be unable to open such packets
  kPaths,        // the client has a second path, or abandoned the first
  kValidating,   // the client's address is being validated
  kBackends,     // too many other backends send for the connection
  kTaken,        // the stream has a grant already
};

// The gateway's side of direct server return for one connection: which backend sends which stream,
// what backends are told, and what follows from what they say. The connection keeps numbers, flow
// control, priorities, losses and congestion control.
class DelegatedStreams final : public GrantListener {
 public:
  // ACKNOWLEDGED, and PHASE until it is followed, leave at most so often.
  static constexpr Duration k_repeat_interval = 5ms;

  // `number` names the connection. No other one of this process ever has it.
  DelegatedStreams(ConnectionExtension connection, std::uint64_t number)
      : connection_(connection), number_(number) {}
  DelegatedStreams(const DelegatedStreams&) = delete;
  ~DelegatedStreams() override;

  // --- what the gateway's application decides ---------------------------------------------------
  // Offers the rest of a stream to a backend, whose session outlives the grant.
  Result<Grant, OfferRefusal> offer(StreamId stream, RunOrders& backend, Time now);
  // The backend has accepted, and sends all further bytes of the stream up to `end`, which is that
  // of the response. Returns false when the stream or the grant is gone.
  [[nodiscard]] bool accept(StreamId stream, std::uint64_t end);
  // Returns whether a backend has a grant for the stream, and has not accepted it.
  bool offered(StreamId stream) const;
  // Takes the grant back. Nobody has the stream's further bytes then.
  void revoke(StreamId stream);

  // A stream whose backend sends nothing more. The application goes on from `acknowledged`, or
  // resets the stream.
  struct Orphan {
    enum class Reason : std::uint8_t {
      kSilent,       // SenderWatch::Verdict::kSilent
      kUnreachable,  // SenderWatch::Verdict::kUnreachable; worth remembering
      kFailed,       // the backend says so, with a code of HTTP/3
      kGone,         // the backend has no such grant
      kPaths,        // the client has opened a second path, or abandoned the first
    };
    StreamId stream;
    Reason reason = Reason::kGone;
    std::uint64_t code = 0;
    std::uint64_t acknowledged = 0;  // the client has all bytes before it
  };
  std::optional<Orphan> poll_orphan();
  // Returns true once after a backend said something about this connection, which may have to send
  // now, or have an orphan.
  bool take_heard() { return std::exchange(heard_, false); }

  // --- with the connection's turns --------------------------------------------------------------
  // Called after the connection has sent what it may: hands its orders to the backends, and tells
  // it the limits of the next ones.
  void flush(Time now);
  // Returns when to call `on_timeout`.
  Time next_timeout() const;
  void on_timeout(Time now);

  void on_progress(RunOrders& backend, const Progress& progress, Time now) override;
  void on_grant_ended(RunOrders& backend, const GrantEnded& ended, Time now) override;

  const ArrivalOrder& arrival_order() const { return order_; }
  std::size_t streams() const { return delegated_.size(); }

 private:
  using Sender = ArrivalOrder::Sender;
  struct Backend {
    RunOrders* orders = nullptr;  // valid while it has grants. Null: the index was never used
    std::size_t grants = 0;
    SenderWatch watch;
    OrderedRuns runs;              // newest, for those that are refused
    std::uint64_t samples = 0;     // of its round trip that were taken
    std::uint64_t generation = 0;  // of the keys that it was told last
    // It has them once it sent this number or a higher one. Until then they are repeated.
    PacketNumber unconfirmed = 0;
    Time phase_told_at = Time::min();
    AddressChange told;
  };
  struct Delegated {
    Sender sender = 0;
    GrantId grant = 0;
    std::uint64_t generation = 0;  // of the grant's keys
    bool accepted = false;
    std::uint64_t available = 0;     // end of the bytes that the backend has
    std::uint64_t appended = 0;      // end of those that the stream knows of
    std::uint64_t end = 0;           // of the response
    std::uint64_t acknowledged = 0;  // what the backend was told
  };
  using Delegations = std::map<StreamId, Delegated>;

  bool runs_possible() const;
  Path& path();  // while runs are possible
  AddressChange address() const;
  std::optional<Sender> sender_for(RunOrders& backend, Time now);
  Sender sender_of(const RunOrders& backend) const;
  Delegations::iterator find(Sender sender, GrantId grant);
  void append(StreamId stream, Delegated& delegated);
  void close(Delegations::iterator delegation);
  void orphan(Delegations::iterator delegation, Orphan::Reason reason, std::uint64_t code);
  void lose(Sender sender, Orphan::Reason reason, Time now);
  void take_samples(Time now);
  void set_limits(Time now);
  void tell_addresses();
  void tell_phase(Backend& backend, PacketNumber first, Time now);
  void hand_over(const RunOrder& order, Time now);
  void tell_acknowledged(Time now);

  ConnectionExtension connection_;
  std::uint64_t number_;
  std::array<Backend, ArrivalOrder::k_max_senders> backends_{};  // the first is this node
  Delegations delegated_;
  std::deque<Orphan> orphans_;
  Time acknowledged_due_{};    // when `tell_acknowledged` looks at the streams again
  Time look_again_ = k_never;  // a turn is due although nothing happens
  ArrivalOrder order_;
  bool heard_ = false;
};

}  // namespace sheaf::quic
