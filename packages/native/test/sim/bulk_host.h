#pragma once

#include <algorithm>
#include <set>

#include "path/path.h"
#include "sim/host.h"

namespace sheaf::quic {

// The smallest transport around a Path: numbered packets in one direction, ACK frames in the other.
// It shows recovery and congestion control without streams, keys or handshake.
class BulkSender final : public Host, SentFrameListener {
 public:
  BulkSender(const AddressPair& addresses, CongestionConfig congestion, std::uint64_t chunks)
      : path_(PathId{0}, addresses, {.congestion = with_size(std::move(congestion))}),
        chunks_(chunks) {}

  void receive(const Datagram& datagram, Time now) override {
    Reader reader(datagram.payload);
    const auto frame = decode_frame(reader, PacketType::kOneRtt);
    const LossDetection::AckContext context{.max_ack_delay = k_max_ack_delay,
                                            .handshake_confirmed = true,
                                            .application_limited = path_.application_limited};
    violated_ |= !frame || !path_.loss.settle(std::get<AckFrame>(*frame), context, now, *this);
    path_.loss.conclude(now, *this);
    path_.update_pacing(now);
    maximum_window = std::max(maximum_window, path_.controller->window());
  }

  void poll_transmit(TransmitBatch& batch, Time now) override {
    pacing_deadline_ = k_never;
    path_.application_limited = !has_data();
    if (!has_data() && probes_ == 0) return;
    if (probes_ == 0) {
      if (path_.loss.bytes_in_flight() + k_size > path_.controller->window()) return;
      if (path_.pacer.budget(now) < k_size) {
        pacing_deadline_ = path_.pacer.next_send_time(now);
        return;
      }
    } else {
      --probes_;
    }
    send_packet(batch, now);
  }

  Time next_timeout() const override {
    return std::min(pacing_deadline_, path_.loss.next_timeout(k_terms));
  }

  void on_timeout(Time now) override {
    if (path_.loss.on_timeout(k_terms, now, *this) == LossDetection::TimeoutAction::kProbe) {
      path_.loss.mark_oldest_for_probe(*this);
      probes_ = 2;
      ++probe_timeouts;
    }
    path_.update_pacing(now);
  }

  // More data to send, whose arrival is an event of the simulation like others.
  void offer(std::uint64_t chunks) { chunks_ += chunks; }
  bool finished() const { return arrived_.size() == chunks_; }
  std::uint64_t arrived() const { return arrived_.size(); }
  bool violated() const { return violated_; }
  const Path& path() const { return path_; }

  static constexpr std::uint16_t k_size = 1200;
  static constexpr Duration k_max_ack_delay = std::chrono::milliseconds(25);
  static constexpr LossDetection::TimerTerms k_terms{.max_ack_delay = k_max_ack_delay,
                                                     .may_probe = true};
  std::uint64_t maximum_window = 0;
  std::uint64_t probe_timeouts = 0;
  std::uint64_t packets_sent = 0;

 private:
  static CongestionConfig with_size(CongestionConfig congestion) {
    congestion.max_datagram_size = k_size;
    return congestion;
  }
  bool has_data() const { return !lost_.empty() || next_chunk_ < chunks_; }

  void send_packet(TransmitBatch& batch, Time now) {
    const Ecn mark = path_.ecn.next_mark();
    std::uint64_t chunk = UINT64_MAX;
    if (!lost_.empty()) {
      chunk = *lost_.begin();
      lost_.erase(lost_.begin());
    } else if (next_chunk_ < chunks_) {
      chunk = next_chunk_++;
    }
    path_.loss.sent().add_frame(SentFrame::for_data({}, chunk, 0, false));
    const PacketNumber number = path_.loss.sent().commit(
        {.time_sent = now, .bytes = k_size, .ack_eliciting = true, .in_flight = true, .ecn = mark});
    path_.loss.on_packet_sent(number, now);
    path_.ecn.on_sent(mark);
    path_.pacer.on_sent(k_size, now);
    ++packets_sent;
    Writer writer(batch.buffer.first(k_size));
    writer.write_varint(number, 8);
    std::memset(writer.position(), 0, writer.remaining());
    batch.size = batch.segment_size = k_size;
    batch.path = path_.addresses;
    batch.ecn = mark;
  }

  void on_frame_acknowledged(PathId, const SentFrame& frame) override {
    if (frame.offset() == UINT64_MAX) return;
    lost_.erase(frame.offset());
    arrived_.insert(frame.offset());
  }
  void on_frame_lost(PathId, const SentFrame& frame) override {
    if (frame.offset() != UINT64_MAX && !arrived_.contains(frame.offset()))
      lost_.insert(frame.offset());
  }

  Path path_;
  std::uint64_t chunks_;
  std::uint64_t next_chunk_ = 0;
  std::set<std::uint64_t> lost_;
  std::set<std::uint64_t> arrived_;
  Time pacing_deadline_ = k_never;
  int probes_ = 0;
  bool violated_ = false;
};

class BulkReceiver final : public Host {
 public:
  void receive(const Datagram& datagram, Time now) override {
    Reader reader(datagram.payload);
    const PacketNumber number = reader.read_varint();
    reply_path_ = datagram.path;
    if (received_.is_duplicate(number)) return;
    received_.on_received(number, datagram.ecn, true, now, BulkSender::k_max_ack_delay);
  }
  void poll_transmit(TransmitBatch& batch, Time now) override {
    if (received_.ack_deadline() > now) return;
    Writer writer(batch.buffer.first(1200));
    if (!received_.write_ack(writer, 3, now)) return;
    batch.size = batch.segment_size = writer.size();
    batch.path = reply_path_;
  }
  Time next_timeout() const override { return received_.ack_deadline(); }
  void on_timeout(Time) override {}

 private:
  ReceivedPackets received_;
  AddressPair reply_path_;
};

}  // namespace sheaf::quic
