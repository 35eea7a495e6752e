#pragma once

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "connection/connection.h"
#include "sample.h"
#include "settings.h"

namespace sheaf::quic::engine_bench {

// A connection over which the server sends a stream. `Host` is one side of it: BareHost or
// EndpointHost.
template <typename Host>
class Receiver {
 public:
  // The hosts have their keys.
  explicit Receiver(std::pair<Host, Host> hosts)
      : client_(std::move(hosts.first)), server_(std::move(hosts.second)) {
    send_request();
  }

  // Sends `bytes`, and the end of the stream after them if `fin` is true.
  Sample transfer(std::uint64_t bytes, bool fin) {
    Sample sample;
    std::uint64_t written = 0;
    while (sample.bytes < bytes) {
      timed(sample.stream_write, [&] { written += write_ahead(bytes - written, fin); });
      const Time sent = current_time();
      std::size_t batches = 0;
      timed(sample.generation, [&] {
        server_.wake(sent);
        batches = flush(server_, batches_, 0, sent);
        server_.end_turn(sent);
      });
      if (batches == 0) fail("nothing to send although the stream is not finished");
      acks_written_ = 0;
      for (std::size_t index = 0; index < batches; ++index) {
        const TransmitBatch& batch = batches_[index].batch;
        // An endpoint may probe another receiver, which gets nothing until it is its turn.
        if (batch.path.remote == address_) process(sample, batch);
      }
      const Time received = current_time();
      timed(sample.server_ack, [&] {
        for (std::size_t index = 0; index < acks_written_; ++index)
          server_.receive(segment(acks_[index].batch, 0), received);
        server_.begin_turn(received);
        server_.drain_events(received);
      });
      sample.acks += acks_written_;
    }
    return sample;
  }

 private:
  struct Sent {
    explicit Sent(std::size_t size) : bytes(size) {}
    std::vector<std::uint8_t> bytes;
    TransmitBatch batch;
  };

  // Writes batches of the turn to `slots` from `first` on. Returns the end of those written.
  static std::size_t flush(Host& from, std::vector<Sent>& slots, std::size_t first, Time now) {
    const std::size_t limit = std::min(first + Host::k_batches, slots.size());
    for (std::size_t index = first; index < limit; ++index) {
      Sent& slot = slots[index];
      slot.batch = {.buffer = slot.bytes, .max_segments = k_batch_packets, .path = {}};
      from.poll_transmit(slot.batch, now);
      if (slot.batch.size == 0) return index;
    }
    return limit;
  }

  void send_request() {
    const auto opened =
        client_.connection().streams().writer().open(Directionality::kBidirectional);
    if (!opened) fail("no stream");
    stream_ = *opened;
    static constexpr std::array<std::uint8_t, 7> k_request{'r', 'e', 'q', 'u', 'e', 's', 't'};
    (void)client_.connection().streams().writer().write(stream_, SendChunk::copy_of(k_request),
                                                        true);
    client_.wake(current_time());
    address_ = client_.connection().paths().stats().front().addresses.local;
    for (bool quiet = false; !quiet;)
      quiet = !deliver(client_, server_) && !deliver(server_, client_);
    std::array<std::uint8_t, 64> request;
    (void)server_.connection().streams().reader().read(stream_, request, current_time());
  }

  bool deliver(Host& from, Host& to) {
    const Time now = current_time();
    const std::size_t batches = flush(from, batches_, 0, now);
    from.end_turn(now);
    for (std::size_t batch = 0; batch < batches; ++batch) {
      const TransmitBatch& sent = batches_[batch].batch;
      for (std::size_t index = 0; index < sent.segments(); ++index)
        to.receive(segment(sent, index), now);
    }
    to.begin_turn(now);
    from.drain_events(now);
    to.drain_events(now);
    return batches > 0;
  }

  // As the receiver's socket would give it.
  static Datagram segment(const TransmitBatch& batch, std::size_t index) {
    const std::size_t offset = index * batch.segment_size;
    const std::size_t length = std::min(batch.segment_size, batch.size - offset);
    return {.payload = batch.buffer.subspan(offset, length),
            .path = {batch.path.remote, batch.path.local}};
  }

  std::uint64_t write_ahead(std::uint64_t left, bool fin) {
    StreamWriter& writer = server_.connection().streams().writer();
    const std::uint64_t queued = writer.unsent_bytes(stream_);
    if (left == 0 || queued >= Host::k_write_ahead) return 0;
    const std::uint64_t length = std::min(left, Host::k_write_ahead - queued);
    SendChunk chunk(Bytes(data_).first(length), nullptr, nullptr);
    if (!writer.write(stream_, std::move(chunk), fin && length == left))
      fail("the stream is closed");
    return length;
  }

  void process(Sample& sample, const TransmitBatch& batch) {
    sample.packets += batch.segments();
    const Time received = current_time();
    for (std::size_t start = 0; start < batch.segments(); start += k_packets_per_ack) {
      const std::size_t end = std::min(start + k_packets_per_ack, batch.segments());
      timed(sample.processing, [&] {
        for (std::size_t index = start; index < end; ++index)
          client_.receive(segment(batch, index), received);
        client_.begin_turn(received);
      });
      timed(sample.client_ack, [&] {
        acks_written_ = flush(client_, acks_, acks_written_, received);
        client_.end_turn(received);
      });
    }
    timed(sample.processing, [&] { sample.bytes += read_stream(received); });
  }

  std::uint64_t read_stream(Time received) {
    std::uint64_t bytes = 0;
    client_.drain_events(received);
    StreamReader& reader = client_.connection().streams().reader();
    for (Bytes next = reader.peek(stream_); !next.empty(); next = reader.peek(stream_)) {
      bytes += next.size();
      if (!reader.consume(stream_, next.size(), received)) fail("the stream is gone");
    }
    return bytes;
  }

  Host client_;
  Host server_;
  Address address_;  // of the client
  StreamId stream_;
  std::vector<std::uint8_t> data_ = std::vector<std::uint8_t>(Host::k_write_ahead, 0x5a);
  std::vector<Sent> batches_ = std::vector<Sent>(Host::k_batches, Sent(64 * 1024));
  // Room for the acknowledgements of two full batches. What finds none is sent later.
  std::vector<Sent> acks_ =
      std::vector<Sent>(2 * k_batch_packets / k_packets_per_ack, Sent(k_packet_size));
  std::size_t acks_written_ = 0;
};

}  // namespace sheaf::quic::engine_bench
