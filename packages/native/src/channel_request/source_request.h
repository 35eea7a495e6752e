#pragma once

#include "channel/source.h"
#include "channel_request/channel_request.h"

namespace sheaf::channel_request {

// The source's side of a receiver's request. The receiver has no place at the source, and gets no
// datagram, until it says that it wants the channel: datagrams that come before a side is ready for
// them would end the request (RFC 9297 §2).
class SourceRequest final : public ChannelRequest {
 public:
  // Offers the channel. `source` must outlive this object.
  SourceRequest(const Place& place, quic::ChannelSource& source, Time now);
  ~SourceRequest() override { on_over(); }

  void send(Time now) override;
  // Tells the receiver that the channel is over.
  void withdraw();
  // Frees the place of the receiver.
  void leave() { on_over(); }
  // Whether `send` may have a key or a copy for the receiver
  bool has_due() const;
  // Whether the receiver needs a copy, and may have room for it or not
  bool needs_copy() const;
  // Whether a copy could leave as soon as the budget of all receivers permits
  bool waits_for_budget() const;

 private:
  bool on_capsule(const quic::ChannelCapsuleValue& value, Time now) override;
  bool on_datagram(const quic::ChannelDatagram& datagram, Time now) override;
  void on_lost(quic::PacketNumber number) override;
  void on_over() override;
  bool on_state(const quic::ChannelState& state, Time now);
  bool begin_copies(quic::ListenState first);
  void send_copies(Time now);
  bool send_copy(quic::PacketNumber number, Bytes packet);
  void send_clock(Time now);

  quic::ChannelSource& source_;
  std::optional<quic::ChannelSource::ReceiverId> receiver_;
  // A copy that was taken from the source and found no room
  std::optional<quic::PacketNumber> refused_;
  // Of a query that waits for its response
  std::optional<std::uint64_t> clock_nonce_;
};

}  // namespace sheaf::channel_request
