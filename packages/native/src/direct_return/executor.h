#pragma once

#include <array>
#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "connection/transmit.h"
#include "crypto/bounded_sealer.h"
#include "direct_return/grant.h"
#include "direct_return/grant_times.h"
#include "direct_return/own_recovery/path_senders.h"
#include "direct_return/payload_source.h"
#include "direct_return/phase_sealer.h"
#include "direct_return/run_arrivals.h"
#include "direct_return/run_queue.h"
#include "direct_return/settled_runs.h"
#include "util/random.h"

namespace sheaf::quic {

struct ExecutorConfig {
  std::uint32_t session = 0;     // counter of the session with the gateway
  std::uint64_t process = 0;     // names this start of the backend
  std::vector<Address> sources;  // from which grants may let it send
  std::size_t max_grants = 4096;
  std::size_t max_runs = 8192;  // that wait
  // Gateways may lend it paths with packet numbers and recovery of its own (own_recovery/).
  bool lent_paths = false;
  CryptoProvider crypto = CryptoProvider::kAutomatic;
};

// Why a grant is not accepted. The response is proxied then.
enum class GrantRefusal : std::uint8_t {
  kForeignProcess,  // made for another process, or for one that this one replaced
  kForeignSource,   // names an address that the configuration does not permit
  kTaken,           // the id is in use
  kTooMany,
  kUnfit,  // its values do not fit together, or not to other grants of the connection
};

// Why a run is not sent.
enum class RunRefusal : std::uint8_t {
  kLate,         // its lifetime is over
  kLow,          // its numbers are not above all that were sent
  kOtherPhase,   // it needs other keys
  kOutOfBounds,  // outside of the grant, or its packets are too large
  kNoData,       // not all bytes are there
  kPaused,       // the client's address is being validated
  kTooMany,      // too many wait
  kBroken,       // its bytes can never be read: the response has failed
};
inline constexpr std::size_t k_run_refusals = 8;

// The part of a backend that carries out what one gateway says, from one session of theirs
// (docs/internals/direct-return.md). It never chooses a number, an address, a time or an amount. It
// seals no number twice and forgets all keys when the gateway falls silent. Sans-IO.
class Executor {
 public:
  struct Stats {
    std::uint64_t runs = 0;  // sent
    std::uint64_t packets = 0;
    std::uint64_t bytes = 0;                              // of UDP payload
    std::array<std::uint64_t, k_run_refusals> refused{};  // runs, by RunRefusal
    std::uint64_t repeated = 0;                           // runs that came again
    std::uint64_t unwanted = 0;  // datagrams with runs that came again, or too late
    std::uint64_t foreign = 0;   // messages about a grant or connection that is not known
    std::uint64_t expired = 0;   // grants whose gateway fell silent
  };

  // PROGRESS leaves at most so often, in at most so many datagrams. The first word of bytes of a
  // grant leaves at once: the gateway has nothing to order before.
  static constexpr Duration k_progress_interval = 5ms;
  static constexpr std::size_t k_max_progress = 16;
  // It is said again so often after a run was refused: a refusal that the gateway does not hear of
  // costs the client's congestion window.
  static constexpr int k_tellings = 5;
  // It is said again for each grant, also if nothing has changed: an earlier one may be lost, and
  // the gateway answers for a grant that it has revoked.
  static constexpr Duration k_repeat_interval = 200ms;

  // `random` outlives the executor, and should not be predictable.
  Executor(ExecutorConfig config, Random& random, Time now);

  // --- what the backend's application says ------------------------------------------------------
  // A source that has the whole stream, from offset 0 on
  struct Whole {
    std::uint64_t end = 0;  // of the stream
    Time asked_at{};        // when the request with the grant came
  };
  // The grant's first packet is sent from a whole source that does not end before it.
  Status<GrantRefusal> accept(const Grant& grant, std::unique_ptr<PayloadSource> source, Time now,
                              std::optional<Whole> whole = {});
  // Whether a first packet leaves with the next call of `poll_transmit`, unless it is refused.
  bool first_is_due() const { return !first_due_.empty(); }
  // The source of a grant has more bytes.
  void on_available(GrantId id);
  // The response cannot be completed. `code` is one of HTTP/3.
  void fail(GrantId id, std::uint64_t code);

  // --- the channel of both nodes ----------------------------------------------------------------
  // Takes a datagram of the gateway. Returns false, and ignores it, when it cannot be one of this
  // session.
  bool receive(Bytes datagram, Time now);
  // Returns a datagram for the gateway; empty when there is none now.
  std::vector<std::uint8_t> poll_message(Time now);

  // --- the network ------------------------------------------------------------------------------
  // Writes the packets of one run that is due. Returns false when none is.
  bool poll_transmit(TransmitBatch& batch, Time now);
  // Returns when there is something to do: to send, to say or to forget.
  Time next_timeout() const;
  // Forgets grants whose gateway is silent.
  void on_timeout(Time now);

  std::size_t grants() const { return grants_.size() + own_.streams(); }
  std::size_t waiting_runs() const { return runs_.size(); }
  const Stats& stats() const { return stats_; }
  // On paths of its own, where the gateway cannot count them
  std::uint64_t packets_lost() const { return own_.packets_lost(); }

 private:
  // What the grants of a connection have in common
  struct Client {
    BoundedSealer sealer;
    CipherSuite suite;
    PhaseSealer phases;
    AddressPair addresses;
    ConnectionId client_id;
    bool grease_fixed_bit = false;
    bool paused = false;
    std::uint32_t address = 0;  // number of the last AddressChange
    std::vector<GrantId> grants;
    Time last_due = Time::min();  // of its waiting runs; the next one is not due before it
    SettledRuns settled;
  };
  using Waiting = RunQueue::Waiting;
  struct Granted {
    std::uint64_t connection = 0;
    StreamId stream;
    std::uint64_t first_offset = 0;
    std::uint64_t limit = 0;
    std::uint16_t max_datagram = 0;
    Time accepted_at;
    Duration silence{};
    std::unique_ptr<PayloadSource> source;
    std::optional<Waiting> first;  // waits for its bytes

    Time reported_at;         // last
    std::uint64_t begun = 0;  // end of the bytes that its first packet has brought
    bool announced = false;   // the gateway was told of bytes behind them
    bool orderable() const { return source->available() > std::max(begun, source->begin()); }
    PacketNumber executed_end = 0;
    std::uint16_t refused = 0;
    std::deque<PacketNumber> newest_refused;
    std::size_t unreported = 0;  // of these
    int tellings = 0;            // of these that are to come
    bool changed = false;        // since the last PROGRESS
    bool revoked = false;        // it stays until its runs have left
    bool doubted = false;        // the gateway was silent at the last look
  };
  using Grants = std::map<GrantId, Granted>;

  void handle(const RunMessage& run, Time now);
  void handle(const Acknowledged& acknowledged, Time now);
  void handle(const PhaseChange& change, Time now);
  void handle(const AddressChange& change, Time now);
  void handle(const GrantEnded& ended, Time now);
  // Forgets a grant that was revoked when its last run has left.
  void forget_revoked(GrantId id);
  void handle(const Ping&, Time) {}
  void handle(const AckReport& report, Time now);
  // Never come: `receive` refuses them.
  void handle(const Progress&, Time) {}
  void handle(const SenderState&, Time) {}
  void handle(const Delivered&, Time) {}
  void handle(const VoidRuns&, Time) {}
  // The gateway speaks of a grant that is not there.
  void answer_unknown(GrantId id);

  bool is_permitted(const Address& source) const;
  // Returns why the run must not be sent now.
  std::optional<RunRefusal> check(const Waiting& waiting, const Granted& granted,
                                  const Client& client, Time now) const;
  void refuse(const RunMessage& run, Granted& granted, Client& client, RunRefusal reason);
  void take_first(const Grant& grant, Granted& granted, const Whole& whole);
  // Sends a first packet whose bytes are there. Returns false when it does not.
  bool send_first(GrantId id, TransmitBatch& batch, Time now);
  void settle_first(GrantId id, std::uint64_t begun);
  // Sends a run, or refuses it.
  bool carry_out(const Waiting& waiting, Granted& granted, TransmitBatch& batch, Time now);
  Time due_of(const Granted& granted) const;
  // Builds and seals the packets of a run. Returns why it could not.
  std::optional<RunRefusal> execute(const RunMessage& run, Granted& granted, Client& client,
                                    TransmitBatch& batch);
  std::uint8_t first_byte(const Client& client);
  void mark_changed(GrantId id, Granted& granted);
  // The same for bytes that have come, if there are any that the first packet does not bring.
  void mark_available(GrantId id, Granted& granted);
  void report_all(const Client& client);
  void end(const GrantEnded& ended);
  void remember_failed(const GrantEnded& ended);
  void say_ended(const GrantEnded& ended);
  void forget(Grants::iterator grant);
  std::vector<std::uint8_t> ended_message();
  Progress report(GrantId id, Granted& granted, Time now);
  std::vector<std::uint8_t> progress_message(Time now);
  void tell_again();
  Time silent_at(const Granted& granted) const {
    return std::max(last_word_, granted.accepted_at) + granted.silence;
  }

  ExecutorConfig config_;
  Random& random_;
  PathSenders own_;                          // streams on lent paths
  std::map<std::uint64_t, Client> clients_;  // by the number of the connection
  Grants grants_;
  RunQueue runs_;
  RunArrivals arrivals_;
  GrantTimes times_;               // when to repeat, or to forget
  std::deque<GrantId> first_due_;  // grants whose first packet may leave
  std::deque<GrantId> changed_;    // grants with something to report
  std::vector<GrantId> again_;     // whose refused runs are told once more
  std::deque<GrantEnded> ended_;   // to report
  std::deque<GrantEnded> failed_;  // those that failed last, of which the gateway may hear late
  Time last_word_;                 // of the gateway
  Time next_progress_ = Time::min();
  bool announces_ = false;         // a grant has changed whose gateway waits for its bytes
  std::size_t progress_said_ = 0;  // datagrams at that time
  Stats stats_;
};

}  // namespace sheaf::quic
