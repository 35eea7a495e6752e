#pragma once

#include <optional>
#include <utility>

#include "channel/channel_messages.h"
#include "http3/capsule.h"
#include "http3/datagram_inbox.h"
#include "http3/session.h"

namespace sheaf::channel_request {

using quic::Bytes;
using quic::Time;

// One side of the request by which a receiver joins a channel (docs/reference/wire.md#channels):
// its capsules and its datagrams. No byte of them reaches JavaScript. Does no I/O: events of the
// HTTP session drive it.
class ChannelRequest {
 public:
  // The request is open: its response was sent, or has come. The session must outlive this object.
  // `slot` tells apart what becomes of the datagrams of one connection's requests.
  struct Place {
    http3::Session& session;
    quic::StreamId stream;
    std::uint16_t slot = 0;
  };

  virtual ~ChannelRequest();
  ChannelRequest(const ChannelRequest&) = delete;
  ChannelRequest& operator=(const ChannelRequest&) = delete;

  quic::StreamId stream() const { return place_.stream; }
  // Takes an event of the HTTP session. Returns true when nobody else needs it.
  bool on_event(const http3::SessionEvent& event, Time now);
  // Reads the datagrams that came, and sends what is due. To be called after the session has seen
  // the events of its connection.
  void on_turn(Time now);
  // Sends what is due.
  virtual void send(Time now) = 0;
  // Whether something was queued on the connection since the last call
  bool take_queued() { return std::exchange(queued_, false); }
  // Why the request is over, as a code of HTTP/3; nothing while it is open. `kNoError`: a side
  // ended it in order.
  std::optional<std::uint64_t> over() const { return over_; }
  // Whether the stream of the request is gone. Until then this object reads what still comes.
  bool closed() const { return closed_; }

 protected:
  // `kept_bytes`: as that of DatagramInbox
  ChannelRequest(const Place& place, std::size_t kept_bytes);

  // Reads what came before this object was made. To be called by the constructor of the last class.
  void begin(Time now) { read_capsules(now); }
  // These return false for a message that has no place on this side or at this time.
  virtual bool on_capsule(const quic::ChannelCapsuleValue& value, Time now) = 0;
  virtual bool on_datagram(const quic::ChannelDatagram& datagram, Time now) = 0;
  // The datagram with this number was lost.
  virtual void on_lost(quic::PacketNumber) {}
  virtual void on_over() {}

  // Whether capsules find room. A peer that does not read would otherwise fill the memory.
  bool may_write() const { return !over_ && writable_; }
  void write_capsule(const quic::ChannelCapsuleValue& value);
  bool may_send() const { return !over_ && !datagrams_blocked_; }
  // Sends a datagram whose loss is told by this number. Returns false when there is no room for it
  // now. One that is too large for the path travels as a capsule (RFC 9297 §3.5).
  bool send_datagram(Bytes payload, quic::PacketNumber number);
  // Of the connection, smoothed
  quic::Duration round_trip() const { return place_.session.transport().round_trip(); }
  // Ends the request in order.
  void end();

 private:
  void read_capsules(Time now);
  bool take_capsule(const http3::Capsule& capsule, Time now);
  bool take_datagram(Bytes payload, Time now);
  bool take_outcome(const http3::DatagramOutcome& outcome);
  void take_end(const http3::SessionEvent& event, Time now);
  void write(std::uint64_t type, Bytes value);
  void fail(http3::ErrorCode code);
  void finish(std::uint64_t code);

  Place place_;
  http3::CapsuleReader capsules_;
  http3::DatagramInbox inbox_;
  bool writable_ = true;
  bool datagrams_blocked_ = false;
  bool queued_ = false;
  bool closed_ = false;
  std::optional<std::uint64_t> over_;
};

}  // namespace sheaf::channel_request
