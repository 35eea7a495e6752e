#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "http3/capsule.h"
#include "http3/datagram_router.h"
#include "http3/session.h"
#include "tunnel/counts.h"
#include "tunnel/mode.h"
#include "tunnel/packet_queue.h"
#include "tunnel_request/client_datagram.h"
#include "tunnel_request/kept_datagrams.h"
#include "tunnel_request/tunnel_feedback.h"
#include "util/codel_law.h"

namespace sheaf::tunnel_request {

using quic::Time;

class TunnelRequest;

// What the tunnels of one connection share: the way to its client.
struct SharedWay {
  // The connection has no room for datagrams, until it says so.
  bool blocked = false;
  // Something was queued on the connection since somebody last looked.
  bool queued = false;
  // Bytes of packets that wait in all of their queues, or are kept
  std::size_t waiting_bytes = 0;
  // Absent where no tunnel sends lost packets again
  std::optional<KeptDatagrams> kept;
  // Tunnels whose packets wait, in the order in which they send next
  std::deque<TunnelRequest*> waiting;
  std::vector<TunnelRequest*> served;  // by `send_all_waiting`, which alone uses it
};

// The proxy's side of a request for UDP proxying (RFC 9298) on HTTP/3: its datagrams, its capsules
// and its end. No byte of them reaches JavaScript. Does no I/O: events of the HTTP session drive
// it.
class TunnelRequest final : public http3::DatagramConsumer {
 public:
  // Sends to the target of a tunnel.
  class Target {
   public:
    virtual ~Target() = default;
    // The payload is valid during the call. Must not call the session.
    virtual void send(const tunnel::Packet& packet) = 0;
    // The proxy reports (tunnel/feedback_report.h), for a tunnel that takes reports.
    virtual void on_report(Bytes report) = 0;
    // There is something for `on_turn` to do.
    virtual void want_turn() = 0;
  };
  // All must outlive this object.
  struct Place {
    http3::Session& session;
    quic::StreamId stream;
    SharedWay& way;
    tunnel::SharedRoom& room;
    Target& target;
  };

  struct Settings {
    std::size_t queue_limit;  // bytes
    quic::TunnelMode mode = quic::TunnelMode::kDatagram;
    quic::TunnelReports reports = quic::TunnelReports::kNone;
    PayloadContexts contexts{};
  };
  // A datagram that was lost. The payload is empty when it was not kept.
  using Lost = KeptDatagrams::Lost;

  // The request is open, and its response follows or was sent.
  TunnelRequest(const Place& place, const Settings& settings, Time now);
  ~TunnelRequest() override;
  TunnelRequest(const TunnelRequest&) = delete;
  TunnelRequest& operator=(const TunnelRequest&) = delete;

  quic::StreamId stream() const { return place_.stream; }
  const tunnel::Counts& counts() const { return counts_; }
  tunnel::Counts& counts() { return counts_; }

  // Takes an event about the stream of this request. Returns true when nobody else needs it.
  bool on_event(const http3::SessionEvent& event, Time now);
  // A datagram was lost. What was kept of it is sent again, before other packets.
  void on_lost(const tunnel::Packet& kept, Time now);
  void on_connection_closed() { finish(http3::value_of(http3::ErrorCode::kNoError)); }
  void on_datagram(http3::HttpDatagram datagram) override {
    take_datagram(datagram.payload, datagram.outer_ecn);
  }
  // Applies what datagrams brought. To be called after the session has seen the events of its
  // connection.
  void on_turn();

  // Sends a packet of the target to the client, or lets it wait.
  void send(tunnel::Packet packet, Time now);
  // Sends capsules that `send` has gathered. To be called behind each burst.
  void flush();
  // Sends waiting packets of all tunnels in turn, as long as the connection has room: deficit round
  // robin (Shreedhar and Varghese, 1995), with Controlled Delay for each tunnel (RFC 8289).
  static void send_all_waiting(SharedWay& way, Time now);
  // Frees memory that only a busy tunnel needs.
  void release_spare();

  // Ends the request in order, or with an error.
  void end();
  void fail(http3::ErrorCode code);
  // Why the request is over, as a code of HTTP/3; nothing while it is open. `kNoError`: a side
  // ended it in order.
  std::optional<std::uint64_t> over() const { return over_; }
  // Whether the stream of the request is gone. Until then this object reads what still comes.
  bool closed() const { return closed_; }

  // Whether a tunnel sent the datagram. The identifiers of channels have another second bit, and
  // those of WebTransport sessions are stream ids (RFC 9000 §2.1: below 2^62).
  static bool is_of_tunnel(std::uint64_t identifier);
  // Takes the outcome of a datagram of a tunnel. Returns it when it was lost.
  static std::optional<Lost> settle(SharedWay& way, const http3::DatagramOutcome& outcome);

 private:
  enum class Passed : std::uint8_t { kSent, kTooLarge, kNoRoom };

  // Sends as many of the waiting packets as the tunnel may in its turn. Returns false when it
  // cannot go on now, although it may.
  bool take_turn(Time now);
  bool send_waiting(Time now);
  void send_repeats();
  // Sends packets that were too large, once they fit. Returns false while they do not.
  bool send_larger(Time now);
  void read_capsules(Time now);
  void take_datagram(Bytes datagram, Ecn outer);
  // These count a packet that was sent, unless `again` says that it was counted before.
  Passed pass(const tunnel::Packet& packet, bool again = false);
  void pass_or_wait(const tunnel::Packet& packet, Time now);
  Passed pass_datagram(const tunnel::Packet& packet);
  std::uint64_t waiting_bytes() const { return queue_.payload_bytes() + larger_.payload_bytes(); }
  void note_queue(Time now);
  void send_report(Time now);
  Passed pass_capsule(const tunnel::Packet& packet);
  // Whether a packet that is too large may fit soon, when the connection has found what its path
  // carries.
  bool may_fit_later(Bytes payload, Time now) const;
  tunnel::RoomShare share() { return {place_.room, place_.way.waiting_bytes}; }
  void wait_in(tunnel::SeldomQueue& queue, std::size_t limit, const tunnel::Packet& packet,
               Time now);
  void note_wait(bool taken);
  bool has_turn_to_take() const { return !queue_.empty() || !repeats_.empty(); }
  bool waits() const { return has_turn_to_take() || !larger_.empty(); }
  void finish_writing();
  void finish(std::uint64_t code);

  Place place_;
  quic::TunnelMode mode_;
  bool takes_reports_;
  PayloadContexts contexts_;
  Time opened_;
  http3::CapsuleReader capsules_;
  tunnel::PacketQueue queue_;
  tunnel::SeldomQueue repeats_;  // packets that were lost
  tunnel::SeldomQueue larger_;   // packets that are too large until the path is known better
  quic::CoDelLaw law_;
  std::size_t deficit_ = 0;             // bytes that the tunnel may send
  std::vector<std::uint8_t> gathered_;  // capsules of a burst
  std::optional<http3::ErrorCode> fault_;
  bool writable_ = true;
  bool listed_ = false;   // in `SharedWay::waiting`
  bool in_turn_ = false;  // has its bytes for this turn
  bool served_ = false;   // in `SharedWay::served`
  bool closed_ = false;
  std::optional<std::uint64_t> over_;
  tunnel::Counts counts_;
  std::unique_ptr<TunnelFeedback> feedback_;  // null unless this end makes reports
};

}  // namespace sheaf::tunnel_request
