#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "connection/local_id_maker.h"
#include "util/interval_set.h"
#include "util/random.h"
#include "util/ring.h"
#include "util/time.h"
#include "wire/frame.h"
#include "wire/transport_error.h"

namespace sheaf::quic {

// Issues the ids with which the peer reaches us on one path (RFC 9000 §5.1.1, RFC 10069 §3.2).
class LocalConnectionIds {
 public:
  struct Change {
    ConnectionId id;
    bool added = true;
  };
  struct Issued {
    std::uint64_t sequence = 0;
    ConnectionId id;
  };

  void set_id_maker(SharedIdMaker maker) { maker_ = std::move(maker); }
  void add_initial(const ConnectionId& id);
  // Keeps `target` ids active, at most the peer's limit and k_max_active.
  void issue(std::uint64_t peer_limit, Random& random);

  bool contains(Bytes id) const;
  std::size_t active_count() const { return active_.size(); }
  // Hands the ids to another server, which goes on with them (docs/internals/multi-end.md).
  // `take_over` returns false when the sequence numbers do not rise.
  const std::vector<Issued>& given() const { return active_; }
  bool take_over(const std::vector<Issued>& ids);
  // Returns the sequence number of the id that is issued next.
  std::uint64_t next_sequence() const { return next_sequence_; }
  // Retires all ids of a path that is gone: no packet with one of them is ours any more.
  void retire_all();
  // Packets in flight to the retired id stay acceptable until then, even the one with the frame.
  // RFC 9000 §19.16 permits refusing that one, but some clients send it when their address changes.
  TransportStatus on_retire(const RetireConnectionIdFrame& frame, Time until);
  // Returns when the next retired id is to be forgotten.
  Time next_forgetting_at() const;
  void forget_retired(Time now);

  bool has_pending() const { return !pending_.empty(); }
  // Returns the next NEW_CONNECTION_ID to send; `sent` takes it off.
  std::optional<NewConnectionIdFrame> next_pending() const;
  void sent();
  void on_lost(std::uint64_t sequence);
  // Returns an id that came or went since the last call, for the endpoint's routing.
  std::optional<Change> poll_change();

 private:
  static constexpr std::size_t k_max_active = 8;
  struct Retired {
    ConnectionId id;
    Time until;
  };
  void add(const ConnectionId& id);
  void forget_oldest_retired();

  std::vector<Issued> active_;
  std::vector<Retired> retired_;        // at most k_max_active, in the order of their retirement
  std::vector<std::uint64_t> pending_;  // sequences to announce
  Ring<Change> changes_;
  SharedIdMaker maker_ = no_reset_key();
  std::uint64_t next_sequence_ = 0;
  std::uint64_t announced_ = 0;  // the peer was told of the sequences below
};

// Ids that the peer gave us for one path (RFC 9000 §5.1.1, §5.1.2, RFC 10069 §3.2).
class RemoteConnectionIds {
 public:
  explicit RemoteConnectionIds(std::uint64_t active_limit) : active_limit_(active_limit) {}

  // Sets the first id. May be called again: 0-RTT uses an id that the handshake replaces.
  void set_initial(const ConnectionId& id);
  // Sets the reset token of sequence 0, from the transport parameters.
  void set_initial_token(const StatelessResetToken& token);
  TransportStatus on_new(const NewConnectionIdFrame& frame);

  // Takes out the ids not in use yet, for another server.
  std::vector<NewConnectionIdFrame> given() const;

  const ConnectionId& current() const { return current_.id; }
  // There is a current id. Path 0 begins with one; the others wait for the peer's.
  bool assigned() const { return assigned_; }
  // Takes the first id into use. Returns false when there is none.
  bool assign();
  bool has_unused() const { return !spare_.empty(); }
  // Returns one past the largest sequence number that was given.
  std::uint64_t next_sequence() const { return seen_.empty() ? 0 : seen_.back().end; }
  bool knows(const ConnectionId& id) const;
  // Switches to an unused id. Returns false when there is none. The one in use is retired at once,
  // or, when the path leads elsewhere now, after the packets in flight with it (`retire_left`).
  bool rotate(std::optional<Time> retire_at = std::nullopt);
  bool is_reset_token(Bytes token) const;

  // Reserves an unused id for addresses other than the path's (RFC 9000 §9.5), in place of an
  // earlier one. Returns false when there is none.
  bool reserve();
  const ConnectionId* reserved() const { return reserved_ ? &reserved_->id : nullptr; }
  // Uses the reserved id: the path leads to those addresses now. Returns false when none is
  // reserved.
  bool use_reserved(Time retire_at);
  // Retires the reserved id: the path will not lead there.
  void retire_reserved();
  // Frees the reserved id for other addresses: the peer moved there without a fresh id of its own.
  void release_reserved();
  // Packets can still be sent to it.
  bool in_use(const ConnectionId& id) const;
  // Returns when the next id that was left is to be retired.
  Time next_retirement_at() const;
  void retire_left(Time now);

  bool has_retirements() const { return !retirements_.empty(); }
  std::uint64_t next_retirement() const { return retirements_.front(); }
  void retirement_sent() { retirements_.erase(retirements_.begin()); }
  // Both take the sequence number, since a lost frame may still be acknowledged later.
  void on_retirement_lost(std::uint64_t sequence);
  void on_retirement_acknowledged(std::uint64_t sequence);

 private:
  struct Known {
    std::uint64_t sequence = 0;
    ConnectionId id;
    std::optional<StatelessResetToken> token;
  };
  static constexpr std::size_t k_remembered = 8;
  static constexpr std::size_t k_max_gaps = 32;
  bool contradicts_earlier(const Known& given) const;
  void retire(const Known& known);
  void retire_old();
  std::optional<Known> take_spare();
  void leave_current(std::optional<Time> retire_at);

  Known current_;
  bool assigned_ = false;
  std::vector<Known> spare_;
  std::optional<Known> reserved_;
  struct Left {
    Known known;
    Time retire_at;
  };
  std::vector<Left> left_;      // no more than the active ones
  std::vector<Known> retired_;  // the last `k_remembered`
  // Sequences that were given, with at most `k_max_gaps` intervals.
  IntervalSet seen_;
  std::vector<std::uint64_t> retirements_;
  std::vector<std::uint64_t> unacknowledged_;  // retirements; bounded as in `on_new`
  std::uint64_t retire_prior_to_ = 0;
  std::uint64_t active_limit_;
};

}  // namespace sheaf::quic
