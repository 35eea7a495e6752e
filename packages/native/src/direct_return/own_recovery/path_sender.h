#pragma once

#include <deque>
#include <map>

#include "connection/transmit.h"
#include "crypto/aead_usage.h"
#include "crypto/bounded_sealer.h"
#include "direct_return/grant.h"
#include "direct_return/own_recovery/sent_stream.h"
#include "direct_return/own_recovery/share_controller.h"
#include "direct_return/phase_sealer.h"
#include "path/path.h"
#include "util/random.h"

namespace sheaf::quic {

// A backend's end of one lent path: packet numbers, loss detection, pacing and ECN are its own.
// What the client says comes as reports of the gateway, which also tells the share of the
// congestion window. Sans-IO.
class PathSender final : private SentFrameListener {
 public:
  // The first grant of a stream on the path. It permits as many bytes as the first flight may have.
  PathSender(const Grant& grant, Random& random, CryptoProvider crypto, Time now);

  void add(const Grant& grant, std::unique_ptr<PayloadSource> source);
  void remove(GrantId stream);
  bool has(StreamId stream) { return find(stream) != nullptr; }
  void on_limit(const Acknowledged& limit);
  // A source has more bytes.
  void on_available() { changed_ = true; }

  void on_report(const AckReport& report, Time now);
  // Returns false, and changes nothing, when the gateway cannot have sealed it.
  bool follow(const PhaseChange& change);
  void follow(const AddressChange& change, Time now);
  CipherSuite suite() const { return suite_; }

  // Writes packets that may leave now. Returns false when there are none.
  bool poll_transmit(TransmitBatch& batch, Time now);
  Time next_timeout() const;
  void on_timeout(Time now);

  // What the gateway is to hear, if anything changed or it has not heard for long
  bool state_due(Time now) const { return now >= next_state(); }
  SenderState state(Time now);
  // Returns one stream of which more has arrived.
  std::optional<Delivered> poll_delivered();
  // Tells of all streams once more, since a message may be lost.
  void repeat_delivered();
  // A stream that cannot be completed, since its bytes cannot be read any more
  std::optional<GrantId> poll_broken();

  std::uint64_t packets_lost() const { return path_.loss.packets_lost(); }

 private:
  // STATE leaves at most so often when nothing was reported, and at least so often.
  static constexpr Duration k_state_interval = 5ms;
  static constexpr Duration k_repeat_interval = 200ms;

  void on_frame_acknowledged(PathId path, const SentFrame& frame) override;
  void on_frame_lost(PathId path, const SentFrame& frame) override;
  SentStream* find(StreamId id);
  ShareController& share() { return static_cast<ShareController&>(*path_.controller); }
  const ShareController& share() const {
    return static_cast<const ShareController&>(*path_.controller);
  }
  LossDetection::TimerTerms timer_terms() const;
  bool wants() const;
  bool may_send() const { return !paused_ && !contradicted_ && !usage_.exhausted(); }
  Time next_state() const;
  // Returns the stream whose turn it is; null when none has something to send.
  std::map<GrantId, SentStream>::iterator next_stream();
  // Writes one packet, and returns its size; 0 when nothing is to be sent.
  std::size_t write_packet(MutableBytes room, Ecn mark, SealJob& job, Time now);
  std::size_t write_payload(Writer& out);
  void leave_hole();
  bool seal(std::span<const SealJob> jobs);

  PathId id_;
  GrantId lent_;
  CipherSuite suite_;
  Random& random_;
  BoundedSealer sealer_;
  PhaseSealer phases_;
  AeadUsage usage_;
  Path path_;
  ConnectionId client_id_;
  bool grease_fixed_bit_;
  std::uint16_t datagram_;  // bytes of UDP payload in a packet
  bool ecn_ = false;
  bool paused_ = false;
  bool contradicted_ = false;
  std::uint32_t address_ = 0;
  std::map<GrantId, SentStream> streams_;
  GrantId last_served_ = 0;
  std::deque<GrantId> delivered_;
  std::deque<GrantId> broken_;
  PacketNumber generation_begin_ = 0;
  PacketNumber hole_at_ = 0;
  std::uint32_t report_ = 0;
  Duration max_ack_delay_ = 25ms;  // RFC 9000 §18.2
  bool changed_ = true;            // since the last state
  bool answer_due_ = true;         // to a report
  Time told_at_ = Time::min();
};

}  // namespace sheaf::quic
