#pragma once

#include "connection/parts.h"

namespace sheaf::quic {

// Opens received packets and hands each frame to the part that it concerns.
class PacketReceiver {
 public:
  PacketReceiver(ConnectionParts& parts, Time now) : parts_(parts), now_(now) {}
  void receive(const Datagram& datagram);

 private:
  void receive_short(Bytes datagram);
  bool begin(PathEntry* entry, const Datagram& datagram);
  void receive_one_rtt(const Datagram& datagram);
  bool accept_path(const Datagram& datagram);
  OpenedPacket open_one_rtt(MutableBytes packet);
  void receive_early(const Datagram& datagram);
  void hold(const Datagram& datagram);
  void accept(const OpenedPacket& packet, PacketType type, const Datagram& datagram);
  bool acceptable(const OpenedPacket& packet, PacketType type, const Datagram& datagram);
  void count_packet(PacketNumber number, PacketType type, std::size_t size);
  TransportStatus process_payload(Bytes payload, PacketType type);
  TransportStatus process_frames(Bytes payload, PacketType type);
  template <typename FrameStruct>
  TransportStatus process_frame(const FrameStruct& frame);
  void remember_used_id();
  void count_received(const Datagram& datagram);
  void follow_address_change(const Datagram& datagram, bool newest);
  void reset_statelessly(Bytes token);
  template <typename FrameStruct>
  TransportStatus judge(const FrameStruct& frame);
  void punish(const TransportError& error);

  TransportStatus handle(const PaddingFrame&);
  TransportStatus handle(const PingFrame&);
  TransportStatus handle(const AckFrame&);
  TransportStatus handle(const ResetStreamFrame&);
  TransportStatus handle(const StopSendingFrame&);
  TransportStatus handle(const CryptoFrame&);
  TransportStatus handle(const NewTokenFrame&);
  TransportStatus handle(const StreamFrame&);
  TransportStatus handle(const MaxDataFrame&);
  TransportStatus handle(const MaxStreamDataFrame&);
  TransportStatus handle(const MaxStreamsFrame&);
  TransportStatus handle(const DataBlockedFrame&);
  TransportStatus handle(const StreamDataBlockedFrame&);
  TransportStatus handle(const StreamsBlockedFrame&);
  TransportStatus handle(const NewConnectionIdFrame&);
  TransportStatus handle(const RetireConnectionIdFrame&);
  TransportStatus handle(const PathChallengeFrame&);
  TransportStatus handle(const PathResponseFrame&);
  TransportStatus handle(const ConnectionCloseFrame&);
  TransportStatus handle(const HandshakeDoneFrame&);
  TransportStatus handle(const DatagramFrame&);
  TransportStatus handle(const AckFrequencyFrame&);
  TransportStatus handle(const ImmediateAckFrame&);
  TransportStatus handle(const PathAckFrame&);
  // Refuse frames of Multi-End, where no path policy handles them.
  TransportStatus handle(const BackendOfferFrame&);
  TransportStatus handle(const BackendWithdrawFrame&);
  TransportStatus handle(const BackendAbandonFrame&);
  TransportStatus handle(const TunnelReportFrame&);
  // Passes on the frames that only path management knows.
  template <typename FrameStruct>
  TransportStatus handle(const FrameStruct& frame);
  TransportStatus acknowledge(PathEntry& entry, const AckFrame& frame);

  ConnectionParts& parts_;
  Time now_;

  // The packet that is being processed.
  PathEntry* entry_ = nullptr;
  Bytes used_id_;
  AddressPair from_;
  std::size_t datagram_size_ = 0;
  Ecn ecn_ = Ecn::kNotEct;  // of the packet whose frames are handled
  PacketType packet_type_ = PacketType::kOneRtt;
  bool ack_eliciting_ = false;
  bool confirms_overtaken_ = false;     // acknowledges a number above packets that are on their way
  bool wants_acknowledgement_ = false;  // at once
  bool probing_only_ = true;            // RFC 9000 §9.1
};

}  // namespace sheaf::quic
