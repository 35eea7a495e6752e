// Measures the cost of the streams alone, in nanoseconds per packet: building packets, handling
// their acknowledgements, and receiving and reading them. A copy of the same bytes is measured for
// comparison.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#include "stream/stream_set.h"
#include "wire/frame_codec.h"

namespace sheaf::quic {
namespace {

constexpr std::size_t k_room = 1320;  // in a packet of 1350 bytes
constexpr std::size_t k_batch = 32;   // packets between two calls of the application
constexpr std::size_t k_packets = 1'000'000;

// Times one part of each batch. The median over the batches is not affected by other processes.
class Stopwatch {
 public:
  void start() { started_ = Ticks::now(); }
  void stop() {
    batches_.push_back(std::chrono::duration<double, std::nano>(Ticks::now() - started_).count());
  }
  double nanoseconds_per_packet() {
    std::ranges::nth_element(batches_, batches_.begin() + static_cast<long>(batches_.size() / 2));
    return batches_[batches_.size() / 2] / k_batch;
  }

 private:
  using Ticks = std::chrono::steady_clock;
  Ticks::time_point started_;
  std::vector<double> batches_;
};

StreamSetConfig unlimited(std::size_t streams) {
  StreamSetConfig config;
  config.initial_connection_window = config.max_connection_window = k_max_varint;
  config.initial_stream_window = config.max_stream_window = k_max_varint;
  config.max_bidirectional_streams = streams;
  return config;
}

struct Ends {
  explicit Ends(std::size_t streams)
      : client(Role::kClient, unlimited(streams)), server(Role::kServer, unlimited(streams)) {
    TransportParameters parameters;
    server.fill_local_parameters(parameters);
    if (!client.set_peer_parameters(parameters)) std::abort();
    for (std::size_t i = 0; i < streams; ++i) {
      ids.push_back(*client.writer().open(Directionality::kBidirectional));
      client.writer().set_priority(ids.back(), {.urgency = 3, .incremental = true});
    }
  }
  // Keeps every stream supplied with data.
  void write() {
    for (StreamId id : ids) {
      while (client.writer().unsent_bytes(id) < lent.size()) {
        if (!client.writer().write(id, SendChunk(lent, nullptr, nullptr), false)) break;
      }
    }
  }
  // Reads everything that waits without a copy, as a file server or nghttp3 would.
  void read() {
    while (const auto event = server.poll_event()) {
      if (event->kind != StreamEvent::Kind::kReadable) continue;
      while (true) {
        const Bytes bytes = server.reader().peek(event->stream);
        if (bytes.empty()) break;
        if (!server.reader().consume(event->stream, bytes.size(), Time{})) std::abort();
      }
    }
  }

  StreamSet client;
  StreamSet server;
  std::vector<StreamId> ids;
  std::vector<std::uint8_t> lent = std::vector<std::uint8_t>(256 << 10, 0x5a);
};

void report(std::size_t streams) {
  Ends ends(streams);
  std::vector<std::uint8_t> packets(k_batch * k_room);
  std::vector<std::uint8_t> copies(k_batch * k_room);
  std::vector<std::size_t> sizes(k_batch);
  std::vector<SentFrame> frames;
  SentPackets sent;
  Stopwatch build, acknowledge, receive, copy;
  const std::size_t batches = k_packets / k_batch;
  for (std::size_t batch = 0; batch < batches; ++batch) {
    if (batch % 8 == 0) ends.write();
    frames.clear();

    build.start();
    for (std::size_t i = 0; i < k_batch; ++i) {
      Writer writer({packets.data() + i * k_room, k_room});
      ends.client.outgoing().write_data(writer, sent, {});
      sizes[i] = writer.size();
      for (const SentFrame& frame : sent.pending_frames()) frames.push_back(frame);
      sent.discard_pending();
    }
    build.stop();

    receive.start();
    for (std::size_t i = 0; i < k_batch; ++i) {
      Reader reader({packets.data() + i * k_room, sizes[i]});
      StreamFrame frame;
      while (!reader.empty() && read_stream_frame(reader, frame)) {
        if (!ends.server.incoming().on_stream(frame, Time{})) std::abort();
      }
    }
    ends.read();
    receive.stop();

    copy.start();
    for (std::size_t i = 0; i < k_batch; ++i) {
      std::memcpy(copies.data() + i * k_room, ends.lent.data() + i * k_room, sizes[i]);
    }
    copy.stop();

    acknowledge.start();
    for (const SentFrame& frame : frames) ends.client.outgoing().on_acknowledged(frame);
    while (ends.client.poll_event()) {
    }
    acknowledge.stop();
  }
  std::printf("%8zu %10.1f %14.1f %10.1f %10.1f\n", streams, build.nanoseconds_per_packet(),
              acknowledge.nanoseconds_per_packet(), receive.nanoseconds_per_packet(),
              copy.nanoseconds_per_packet());
}

}  // namespace
}  // namespace sheaf::quic

int main() {
  std::printf("ns per packet of %zu bytes, median of the batches of %zu\n", sheaf::quic::k_room,
              sheaf::quic::k_batch);
  std::printf("%8s %10s %14s %10s %10s\n", "streams", "build", "acknowledge", "receive", "memcpy");
  for (std::size_t streams : {1, 10, 1000}) sheaf::quic::report(streams);
  return 0;
}
