#pragma once

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "direct_return/grant_times.h"
#include "direct_return/run_messages.h"
#include "direct_return/said_runs.h"
#include "direct_return/silence.h"

namespace sheaf::quic {

class RunOrders;

// The part of a connection that hears what a backend says about its grants
class GrantListener {
 public:
  virtual ~GrantListener() = default;
  virtual void on_progress(RunOrders& backend, const Progress& progress, Time now) = 0;
  // The backend never got the run that begins with a number, and does not carry it out any more.
  virtual void on_void_run(RunOrders&, GrantId, PacketNumber, Time) {}
  // The backend has forgotten the grant: RESET or REVOKE.
  virtual void on_grant_ended(RunOrders& backend, const GrantEnded& ended, Time now) = 0;
  // About paths that were lent, and their streams
  virtual void on_state(RunOrders&, const SenderState&, Time) {}
  virtual void on_delivered(RunOrders&, const Delivered&, Time) {}
};

// The gateway's end of a session with one backend: gathers what its connections say, and hands on
// what the backend says. Revokes grants of which the backend speaks although nobody has them. All
// objects of a process have different numbers. Sans-IO.
class RunOrders {
 public:
  static constexpr Duration k_ping_interval = 200ms;
  // What follows runs shows the backend that none is missing.
  static constexpr Duration k_after_runs = 5ms;
  // ACKNOWLEDGED is said again so often, also if nothing has changed: a backend that has forgotten
  // the grant answers, as what it said before may be lost.
  static constexpr Duration k_repeat_interval = 200ms;

  struct Config {
    std::uint32_t session = 0;          // its counter
    std::uint64_t process = 0;          // names this start of the gateway
    std::uint64_t backend_process = 0;  // and of the backend
  };
  RunOrders(const Config& config, Time now);

  const Config& config() const { return config_; }
  // Names this object. No other one ever has the number, which is not 0.
  std::uint64_t number() const { return number_; }

  // --- grants of this session -------------------------------------------------------------------
  // Returns the number of a new grant. The listener outlives it.
  GrantId open(GrantListener& listener);
  // The backend has accepted the grant. From now on it is told again and again what the client has,
  // and says something itself.
  void on_accepted(const Acknowledged& acknowledged, Time now);
  // Nothing is heard about the grant from now on.
  void close(GrantId id);
  // Tells all grants that they ended, since the session does.
  void end_all(Time now);
  std::size_t grants() const { return grants_.size(); }

  // --- what the gateway says, in this order -----------------------------------------------------
  void say(const RunMessage& run) { add(run); }
  void say(const Acknowledged& acknowledged, Time now) {
    add(acknowledged);
    repeat(acknowledged, now);
  }
  void say(const PhaseChange& change) { add(change); }
  void say(const AddressChange& change) { add(change); }
  void say(const GrantEnded& ended) { add(ended); }
  void say(const AckReport& report) { add(report); }

  // --- the channel of both nodes ----------------------------------------------------------------
  // Returns a datagram for the backend; empty when there is none now.
  std::vector<std::uint8_t> poll_message(Time now);
  // Takes a datagram of the backend. Returns false, and ignores it, when it cannot be one of this
  // session.
  bool receive(Bytes datagram, Time now);
  // Returns when there is something to say.
  Time next_timeout() const {
    if (!waiting_.empty()) return Time::min();
    return grants_.empty() ? k_never : std::min(times_.next(), ping_due());
  }
  // By how much the backend's way to clients is longer than the gateway's, as a connection measured
  // it last. Others expect the same.
  Duration way() const { return way_; }
  void set_way(Duration way) { way_ = way; }
  // Whether the backend says nothing, since its last word or since it accepted a grant. Asked while
  // it has one.
  Silence& silence() { return silence_; }
  const Silence& silence() const { return silence_; }

 private:
  template <typename Message>
  void add(const Message& message) {
    auto* last = waiting_.empty() ? nullptr : std::get_if<std::vector<Message>>(&waiting_.back());
    if (last == nullptr || last->size() == most_in_datagram(*last) ||
        !same_kind(last->front(), message)) {
      last = &std::get<std::vector<Message>>(waiting_.emplace_back(std::vector<Message>()));
    }
    last->push_back(message);
  }
  template <typename Message>
  static bool same_kind(const Message&, const Message&) {
    return true;
  }
  static bool same_kind(const GrantEnded& a, const GrantEnded& b) { return a.end == b.end; }
  struct Open {
    GrantListener* listener = nullptr;
    Acknowledged acknowledged;  // that was said last
  };
  void repeat(const Acknowledged& acknowledged, Time now);
  void on_void(std::uint64_t datagram, Time now);
  Time ping_due() const { return last_said_ + (last_had_runs_ ? k_after_runs : k_ping_interval); }
  // Returns null, and tells the backend to forget it, for a grant that nobody has.
  GrantListener* listener_of(GrantId id);

  Config config_;
  std::uint64_t number_;
  std::map<GrantId, Open> grants_;
  GrantTimes times_;  // when to repeat ACKNOWLEDGED
  GrantId next_id_ = 1;
  std::deque<RunMessages> waiting_;  // a datagram each
  std::uint64_t next_datagram_ = 0;  // with runs
  SaidRuns said_;
  Silence silence_;
  Time last_said_;
  bool last_had_runs_ = false;
  Duration way_{};
};

}  // namespace sheaf::quic
