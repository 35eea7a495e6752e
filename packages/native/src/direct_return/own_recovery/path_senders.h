#pragma once

#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "direct_return/own_recovery/closed_paths.h"
#include "direct_return/own_recovery/path_sender.h"

namespace sheaf::quic {

// The part of an Executor that sends on paths which its gateway lent: streams whose packet numbers
// and recovery are the backend's own (docs/internals/direct-return.md).
class PathSenders {
 public:
  static constexpr std::size_t k_max_paths = 1024;

  PathSenders(std::uint32_t session, CryptoProvider crypto, Random& random)
      : session_(session), crypto_(crypto), random_(random) {}

  // Returns false when the grant does not fit to what is there.
  bool accept(const Grant& grant, std::unique_ptr<PayloadSource> source, Time now);
  bool contains(GrantId stream) const { return streams_.contains(stream); }
  std::size_t streams() const { return streams_.size(); }
  // On all paths so far
  std::uint64_t packets_lost() const;
  void on_available(GrantId stream);
  // The stream sends nothing more.
  void forget(GrantId stream);

  // --- messages of the gateway. Return false when nobody knows what they are about. --------------
  bool handle(const AckReport& report, Time now);
  bool handle(const Acknowledged& limit);
  bool handle(const PhaseChange& change);
  // The backend's configuration permits the address.
  bool handle(const AddressChange& change, Time now);
  // Ends a stream or a path with all of its streams.
  bool end(GrantId id);

  // Returns a datagram for the gateway; empty when there is none now.
  std::vector<std::uint8_t> poll_message(Time now);
  // `last_word` is when the gateway said anything last. When it is silent, nothing is sent.
  bool poll_transmit(TransmitBatch& batch, Time last_word, Time now);
  // Returns a stream that cannot be completed, and was forgotten.
  std::optional<GrantId> poll_broken();
  Time next_timeout(Time last_word) const;
  // Forgets the paths of a gateway that is still silent at a second look.
  // Returns how many streams were forgotten.
  std::size_t on_timeout(Time last_word, Time now);

 private:
  struct Lent {
    std::unique_ptr<PathSender> sender;
    Time accepted_at{};  // its newest stream
    Duration silence{};
    Time repeat_at{};
    Time doubted_at = Time::min();  // when the gateway was silent at a look
    Time silent_at(Time last_word) const { return std::max(last_word, accepted_at) + silence; }
  };
  // DELIVERED is said again so often: an earlier one may be lost.
  static constexpr Duration k_repeat_interval = 200ms;

  void close(std::map<GrantId, Lent>::iterator path);

  std::uint32_t session_;
  CryptoProvider crypto_;
  Random& random_;
  std::map<GrantId, Lent> paths_;
  std::map<GrantId, GrantId> streams_;  // the path of each
  ClosedPaths closed_;
  GrantId last_served_ = 0;           // the path that sent last
  std::uint64_t lost_on_closed_ = 0;  // packets
};

}  // namespace sheaf::quic
