#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "connection/event.h"
#include "http3/transport.h"
#include "util/random.h"

namespace sheaf::http3 {

struct MemoryOptions {
  std::size_t send_buffer = 4096;     // unsent bytes per stream before `write` says full
  std::size_t receive_window = 8192;  // unread bytes per stream
  std::size_t max_piece = 64;         // bytes that travel, and that one `peek` shows, at most
  std::uint64_t max_bidirectional = 100;
  std::uint64_t max_unidirectional = 100;
  std::size_t max_datagram = 1200;
};

// Implements both sides of a connection in memory, with the rules of stream/stream_set.h. Bytes
// travel in small random pieces from random streams, events are coalesced, and windows are obeyed.
class MemoryNetwork {
 public:
  explicit MemoryNetwork(std::uint64_t seed, const MemoryOptions& options = {})
      : random_(seed),
        options_(options),
        ends_{End(*this, Role::kClient), End(*this, Role::kServer)} {}

  class End final : public Transport {
   public:
    End(MemoryNetwork& network, Role role) : network_(network), role_(role) {}
    Role role() const override { return role_; }

    quic::Result<StreamId, quic::StreamRefusal> open_stream(Directionality direction) override {
      const auto kind = static_cast<std::size_t>(direction);
      const std::uint64_t limit = direction == Directionality::kBidirectional
                                      ? network_.options_.max_bidirectional
                                      : network_.options_.max_unidirectional;
      if (opened_[kind] >= limit) return quic::StreamRefusal::kStreamLimit;
      const StreamId id = StreamId::make(role_, direction, opened_[kind]++);
      streams_[id];
      if (direction == Directionality::kUnidirectional) streams_[id].receiving_done = true;
      return id;
    }
    quic::Result<bool, quic::StreamRefusal> write(StreamId id, SendChunk chunk, bool fin) override {
      Stream* stream = find(id);
      if (!stream) return quic::StreamRefusal::kUnknownStream;
      if (stream->fin_queued || stream->reset_queued) return quic::StreamRefusal::kFinished;
      stream->unsent += chunk.bytes().size();
      if (!chunk.bytes().empty()) stream->chunks.push_back(std::move(chunk));
      stream->fin_queued = fin;
      if (stream->unsent < network_.options_.send_buffer) return true;
      stream->was_full = true;
      return false;
    }
    // No other node has bytes here, so they can only follow the end.
    quic::Result<bool, quic::StreamRefusal> replace(StreamId id, std::uint64_t offset,
                                                    SendChunk chunk, bool fin) override {
      const Stream* stream = find(id);
      if (stream && offset != stream->moved + stream->unsent) {
        return quic::StreamRefusal::kFinished;
      }
      return write(id, std::move(chunk), fin);
    }
    std::uint64_t readable_bytes(StreamId id) const override { return unread(id); }
    quic::Result<quic::ReadResult, quic::StreamRefusal> read(StreamId id, quic::MutableBytes out,
                                                             Time now) override {
      std::size_t size = 0;
      while (true) {
        const Bytes bytes = peek(id).first(std::min(peek(id).size(), out.size() - size));
        std::copy(bytes.begin(), bytes.end(), out.begin() + static_cast<std::ptrdiff_t>(size));
        size += bytes.size();
        auto result = consume(id, bytes.size(), now);
        if (!result) return result;
        result->bytes = size;
        if (bytes.empty() || size == out.size() || result->finished) return result;
      }
    }
    Bytes peek(StreamId id) const override {
      const auto found = streams_.find(id);
      if (found == streams_.end()) return {};
      const auto& received = found->second.received;
      return received.empty() ? Bytes() : Bytes(received.front());
    }
    quic::Result<quic::ReadResult, quic::StreamRefusal> consume(StreamId id, std::size_t bytes,
                                                                Time) override {
      Stream* stream = find(id);
      if (!stream) return quic::StreamRefusal::kUnknownStream;
      if (stream->abandoned) return quic::StreamRefusal::kFinished;
      quic::ReadResult result;
      if (stream->reset_received) {
        result.reset = stream->reset_received;
        stream->received.clear();
        stream->unread = 0;
        stream->receiving_done = true;
        close_when_done(id);
        return result;
      }
      bytes = std::min(bytes, peek(id).size());
      result.bytes = bytes;
      stream->unread -= bytes;
      if (bytes > 0) {
        auto& front = stream->received.front();
        front.erase(front.begin(), front.begin() + static_cast<std::ptrdiff_t>(bytes));
        if (front.empty()) stream->received.pop_front();
      }
      if (stream->fin_received && stream->received.empty()) {
        result.finished = true;
        stream->receiving_done = true;
        close_when_done(id);
      }
      return result;
    }
    void reset_stream(StreamId id, std::uint64_t error) override {
      Stream* stream = find(id);
      if (!stream || stream->sending_done || stream->reset_queued) return;
      stream->reset_queued = error;
      stream->chunks.clear();
      stream->unsent = 0;
    }
    void stop_sending(StreamId id, std::uint64_t error) override {
      Stream* stream = find(id);
      if (!stream || stream->receiving_done || stream->abandoned) return;
      stream->abandoned = true;
      stream->received.clear();
      stream->unread = 0;
      if (stream->fin_received || stream->reset_received) {
        stream->receiving_done = true;
        return close_when_done(id);
      }
      stream->stop_queued = error;
    }
    void keep_reliable(StreamId id, std::uint64_t bytes) override { reliable[id] = bytes; }
    void set_expected_bytes(StreamId id, std::uint64_t total) override { expected[id] = total; }
    void set_priority(StreamId id, const StreamPriority& priority) override {
      priorities[id] = priority;
    }
    bool received_early(StreamId) const override { return early; }
    std::uint64_t reserve(StreamId) override { return 16 << 10; }
    bool has_room_to_hold(std::uint64_t bytes) const override { return held + bytes <= memory; }
    bool has_room_to_wait() const override { return held <= memory; }
    void hold(std::uint64_t bytes) override { held += bytes; }
    void release(std::uint64_t bytes) override { held -= bytes; }
    std::size_t datagram_room = SIZE_MAX;  // how many more the queue takes
    bool records_datagrams = false;        // in `sent_datagrams`, by their identifiers
    std::vector<std::uint64_t> sent_datagrams;
    std::size_t waiting_limit = 0;
    quic::Duration round_trip() const override { return std::chrono::milliseconds(20); }
    bool peer_takes_datagrams() const override { return network_.options_.max_datagram > 0; }
    std::size_t max_datagram_payload() const override { return network_.options_.max_datagram; }
    bool send_datagram(Bytes payload, std::uint64_t identifier) override {
      if (datagram_room == 0 || payload.size() > network_.options_.max_datagram) return false;
      --datagram_room;
      if (records_datagrams) sent_datagrams.push_back(identifier);
      network_.peer(role_).datagrams_.emplace_back(payload.begin(), payload.end());
      network_.peer(role_).events_.push_back(quic::DatagramReceivedEvent{});
      return true;
    }
    void limit_waiting_datagrams(std::size_t bytes) override { waiting_limit = bytes; }
    quic::ApplicationDatagrams::Conditions datagram_conditions() const override {
      return conditions;
    }
    quic::ApplicationDatagrams::Conditions conditions;
    std::optional<quic::ReceivedDatagram> receive_datagram() override {
      if (datagrams_.empty()) return std::nullopt;
      datagram_ = std::move(datagrams_.front());
      datagrams_.pop_front();
      return quic::ReceivedDatagram{datagram_, datagram_ecn};
    }
    void close(std::uint64_t error, std::string_view reason, Time) override {
      if (close_error) return;
      close_error = error;
      close_reason = reason;
    }

    // Of packets that bring datagrams
    quic::Ecn datagram_ecn = quic::Ecn::kNotEct;

    // --- for tests ------------------------------------------------------------------------
    std::optional<quic::Event> poll_event() {
      if (events_.empty()) return std::nullopt;
      const auto event = events_.front();
      events_.pop_front();
      return event;
    }
    std::size_t open_streams() const { return streams_.size(); }
    std::size_t unsent(StreamId id) const {
      const auto found = streams_.find(id);
      return found == streams_.end() ? 0 : found->second.unsent;
    }
    std::size_t unread(StreamId id) const {
      const auto found = streams_.find(id);
      return found == streams_.end() ? 0 : found->second.unread;
    }
    std::map<StreamId, StreamPriority> priorities;
    std::map<StreamId, std::uint64_t> expected;
    std::map<StreamId, std::uint64_t> reliable;
    std::optional<std::uint64_t> close_error;
    std::string close_reason;
    bool early = false;
    std::uint64_t memory = UINT64_MAX;  // that may be held
    std::uint64_t held = 0;

   private:
    friend class MemoryNetwork;
    struct Stream {
      std::deque<SendChunk> chunks;
      std::size_t chunk_offset = 0;
      std::size_t unsent = 0;
      std::uint64_t moved = 0;  // bytes that the peer has
      bool was_full = false;
      bool fin_queued = false;
      std::optional<std::uint64_t> reset_queued;
      std::optional<std::uint64_t> stop_queued;
      bool sending_done = false;
      std::deque<std::vector<std::uint8_t>> received;
      std::size_t unread = 0;
      bool fin_received = false;
      std::optional<std::uint64_t> reset_received;
      bool receiving_done = false;
      bool abandoned = false;
    };

    Stream* find(StreamId id) {
      const auto found = streams_.find(id);
      return found == streams_.end() ? nullptr : &found->second;
    }
    void notify(StreamId id, quic::StreamEvent::Kind kind, std::uint64_t value = 0) {
      for (const auto& queued : events_) {
        const auto* event = std::get_if<quic::StreamEvent>(&queued);
        if (event && event->stream == id && event->kind == kind) return;
      }
      events_.push_back(quic::StreamEvent{kind, id, value});
    }
    // Events are coalesced: the latest offset counts.
    void notify_acknowledged(StreamId id, std::uint64_t offset) {
      for (auto& queued : events_) {
        auto* event = std::get_if<quic::StreamEvent>(&queued);
        if (!event || event->stream != id) continue;
        if (event->kind != quic::StreamEvent::Kind::kAcknowledged) continue;
        event->value = offset;
        return;
      }
      notify(id, quic::StreamEvent::Kind::kAcknowledged, offset);
    }
    void close_when_done(StreamId id) {
      const Stream& stream = streams_.at(id);
      if (!stream.sending_done || !stream.receiving_done) return;
      streams_.erase(id);
      notify(id, quic::StreamEvent::Kind::kClosed);
    }

    MemoryNetwork& network_;
    Role role_;
    std::array<std::uint64_t, 2> opened_{};
    std::map<StreamId, Stream> streams_;
    std::deque<quic::Event> events_;
    std::array<std::uint64_t, 4> peer_opened_{};  // streams of the peer, by the id's lowest bits
    std::deque<std::vector<std::uint8_t>> datagrams_;
    std::vector<std::uint8_t> datagram_;  // the one that was read
  };

  End& end(Role role) { return ends_[static_cast<std::size_t>(role)]; }
  End& peer(Role role) { return end(quic::peer_of(role)); }

  // What the path carries has become known.
  void set_max_datagram(std::size_t bytes) { options_.max_datagram = bytes; }
  // Moves one piece of one random stream, or one signal. Returns false when nothing can move.
  bool step() {
    std::vector<std::pair<Role, StreamId>> ready;
    for (const Role role : {Role::kClient, Role::kServer}) {
      for (const auto& [id, stream] : end(role).streams_) {
        if (can_move(role, id, stream)) ready.emplace_back(role, id);
      }
    }
    if (ready.empty()) return false;
    const auto [role, id] = ready[random_.below(ready.size())];
    move(role, id);
    return true;
  }

 private:
  bool can_move(Role role, StreamId id, const End::Stream& stream) {
    if (stream.stop_queued) return true;
    if (stream.sending_done) return false;
    if (stream.reset_queued) return true;
    const bool window = peer(role).unread(id) < options_.receive_window;
    return (stream.unsent > 0 && window) || (stream.unsent == 0 && stream.fin_queued);
  }

  void move(Role role, StreamId id) {
    using Kind = quic::StreamEvent::Kind;
    End& from = end(role);
    End& to = peer(role);
    End::Stream& source = from.streams_.at(id);
    if (id.initiator() == role) open_up_to(to, id);
    End::Stream* target = to.find(id);
    if (source.stop_queued) {
      // RFC 9000 §3.5: the response to STOP_SENDING is a reset.
      if (target && !target->sending_done && !target->reset_queued) {
        to.notify(id, Kind::kStopSending, *source.stop_queued);
        to.reset_stream(id, *source.stop_queued);
      }
      source.stop_queued.reset();
      return;
    }
    if (source.reset_queued) {
      source.sending_done = true;
      if (target && target->abandoned) {
        target->receiving_done = true;
        to.close_when_done(id);
      } else if (target && !target->receiving_done && !target->fin_received) {
        target->reset_received = source.reset_queued;
        to.notify(id, Kind::kReset, *source.reset_queued);
      }
      from.close_when_done(id);
      return;
    }
    if (source.unsent > 0) {
      move_bytes(source, target);
      from.notify_acknowledged(id, source.moved);
    }
    if (source.unsent == 0 && source.fin_queued) {
      source.sending_done = true;
      if (target) target->fin_received = true;
      if (target && target->abandoned) {
        target->receiving_done = true;
        to.close_when_done(id);
        target = nullptr;
      }
    }
    if (target && !target->receiving_done && !target->abandoned) to.notify(id, Kind::kReadable);
    if (source.was_full && source.unsent < options_.send_buffer / 2) {
      source.was_full = false;
      from.notify(id, Kind::kWritable);
    }
    from.close_when_done(id);
  }

  void move_bytes(End::Stream& source, End::Stream* target) {
    const Bytes chunk = source.chunks.front().bytes().subspan(source.chunk_offset);
    const std::size_t size =
        std::min<std::size_t>(chunk.size(), 1 + random_.below(options_.max_piece));
    if (target && !target->receiving_done && !target->abandoned) {
      target->received.emplace_back(chunk.begin(), chunk.begin() + size);
      target->unread += size;
    }
    source.unsent -= size;
    source.moved += size;
    source.chunk_offset += size;
    if (size == chunk.size()) {
      source.chunks.pop_front();
      source.chunk_offset = 0;
    }
  }

  // RFC 9000 §2.1: a stream opens all lower ones of its kind.
  static void open_up_to(End& end, StreamId id) {
    for (auto& next = end.peer_opened_[id.value & 3]; next <= id.index(); ++next) {
      const StreamId opened = StreamId::make(id.initiator(), id.directionality(), next);
      end.streams_[opened].sending_done = id.directionality() == Directionality::kUnidirectional;
      end.notify(opened, quic::StreamEvent::Kind::kOpened);
    }
  }

  quic::SeededRandom random_;
  MemoryOptions options_;
  std::array<End, 2> ends_;
};

}  // namespace sheaf::http3
