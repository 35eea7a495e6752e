// Feeds random frames of the peer and random calls of the application to one StreamSet, some of
// whose bytes other nodes have. Checks that bytes are those that the peer sent, that events follow
// the life of a stream, that everything lent comes back, that the frames written here decode and
// stay within the peer's limits, and that memory stays bounded.

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <vector>

#include "stream/stream_set.h"
#include "wire/frame_codec.h"

namespace sheaf::quic {
namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

std::uint8_t pattern_byte(StreamId id, std::uint64_t offset) {
  return static_cast<std::uint8_t>(id.value * 31 + offset + (offset >> 8) * 7);
}

StreamSetConfig small_config() {
  StreamSetConfig config;
  config.initial_connection_window = 40'000;
  config.max_connection_window = 100'000;
  config.initial_stream_window = 10'000;
  config.max_stream_window = 40'000;
  config.max_bidirectional_streams = 12;
  config.max_unidirectional_streams = 6;
  config.send_buffer = 5000;
  return config;
}

class Session {
 public:
  explicit Session(Bytes input)
      : input_(input), streams_(std::make_unique<StreamSet>(Role::kServer, small_config())) {
    TransportParameters peer;
    peer.initial_max_data = max_data_ = 3000;
    peer.initial_max_stream_data_bidi_local = peer.initial_max_stream_data_bidi_remote =
        peer.initial_max_stream_data_uni = initial_stream_limit_ = 1000;
    peer.initial_max_streams_bidi = peer.initial_max_streams_uni = 3;
    peer.reset_stream_at = true;
    require(bool(streams_->set_peer_parameters(peer)));
  }
  ~Session() {
    streams_.reset();
    require(lent_ == 0);
  }
  void run();

 private:
  struct Known {
    std::uint64_t read = 0;
    bool closed = false;
  };
  using Packet = std::vector<SentFrame>;

  std::uint64_t take(std::uint64_t bound) { return input_.read_u16() % bound; }
  StreamId any_stream() { return {take(40)}; }
  bool frame_from_peer();
  bool reset_from_peer(StreamId id);
  void application_call();
  SendChunk lend(std::size_t bytes);
  void write(StreamId id);
  void call_of_remote_streams(StreamId id);
  void order_remote();
  void read(StreamId id);
  void poll();
  void send();
  void settle();

  Reader input_;
  std::unique_ptr<StreamSet> streams_;
  std::map<std::uint64_t, Known> known_;
  std::vector<Packet> flying_;
  SentPackets sent_;
  int lent_ = 0;
  Time now_{};
  std::uint64_t max_data_ = 0;
  std::uint64_t initial_stream_limit_ = 0;
  std::map<std::uint64_t, std::uint64_t> max_stream_data_;
  std::map<std::uint64_t, std::uint64_t> sent_up_to_;
};

void Session::run() {
  while (!input_.empty()) {
    now_ += std::chrono::microseconds(take(5000));
    switch (take(5)) {
      case 0:
      case 1:
        if (!frame_from_peer()) return;  // the connection would close
        break;
      case 2:
        application_call();
        break;
      case 3:
        send();
        break;
      default:
        settle();
    }
    require(streams_->memory().used() < 4u << 20);
  }
  poll();
}

bool Session::frame_from_peer() {
  const StreamId id = any_stream();
  switch (take(10)) {
    case 0:
      return reset_from_peer(id);
    case 1:
      return bool(streams_->incoming().on_stop_sending({id, take(10)}));
    case 2: {
      const std::uint64_t maximum = take(60'000);
      max_data_ = std::max(max_data_, maximum);
      return bool(streams_->incoming().on_max_data({maximum}));
    }
    case 3: {
      const std::uint64_t maximum = take(20'000);
      std::uint64_t& limit = max_stream_data_[id.value];
      limit = std::max(limit, maximum);
      return bool(streams_->incoming().on_max_stream_data({id, maximum}));
    }
    case 4:
      return bool(
          streams_->incoming().on_max_streams({static_cast<Directionality>(take(2)), take(20)}));
    case 5:
      return bool(streams_->incoming().on_stream_data_blocked({id, take(1000)})) &&
             bool(streams_->incoming().on_data_blocked({take(1000)})) &&
             bool(streams_->incoming().on_streams_blocked(
                 {Directionality::kBidirectional, take(10)}));
    default: {
      const std::uint64_t offset = take(12'000);
      std::vector<std::uint8_t> data(take(1500));
      for (std::size_t i = 0; i < data.size(); ++i) data[i] = pattern_byte(id, offset + i);
      return bool(streams_->incoming().on_stream({id, offset, data, take(8) == 0}, now_));
    }
  }
}

bool Session::reset_from_peer(StreamId id) {
  const std::uint64_t final_size = take(12'000);
  const std::uint64_t reliable = take(2) == 0 ? take(final_size + 1) : 0;
  return bool(streams_->incoming().on_reset_stream({id, take(2), final_size, reliable}));
}

void Session::application_call() {
  const StreamId id = any_stream();
  switch (take(13)) {
    case 0:
      (void)streams_->writer().open(static_cast<Directionality>(take(2)));
      break;
    case 1:
    case 2:
      write(id);
      break;
    case 3:
      (void)streams_->writer().reset(id, take(10));
      break;
    case 4:
      (void)streams_->reader().stop_sending(id, take(10));
      break;
    case 5:
      streams_->writer().set_priority(id, {static_cast<std::uint8_t>(take(9)), take(2) == 0});
      streams_->set_rtt(std::chrono::milliseconds(take(50)));
      break;
    case 6:
      poll();
      break;
    case 7:
      streams_->writer().keep_reliable(id, take(4000));
      break;
    case 8:
    case 9:
      read(id);
      break;
    default:
      call_of_remote_streams(id);
  }
}

// Another node has bytes of a stream, or has them no more.
void Session::call_of_remote_streams(StreamId id) {
  RemoteStreams& remote = streams_->remote();
  switch (take(4)) {
    case 0:
      (void)remote.assign(id, static_cast<std::uint8_t>(1 + take(2)));
      break;
    case 1:
      (void)remote.append(id, take(4000), take(8) == 0);
      break;
    case 2:
      remote.withhold(id, take(2) == 0);
      break;
    default: {
      const std::uint64_t offset = take(12'000);
      (void)streams_->writer().replace(id, offset, lend(take(4000)), take(8) == 0);
    }
  }
}

SendChunk Session::lend(std::size_t bytes) {
  struct Loan {
    int* lent;
    std::vector<std::uint8_t> bytes;
  };
  auto* loan = new Loan{&lent_, std::vector<std::uint8_t>(bytes)};
  ++lent_;
  const auto release = [](void* owner) {
    auto* returned = static_cast<Loan*>(owner);
    --*returned->lent;
    delete returned;
  };
  return SendChunk(loan->bytes, release, loan);
}

void Session::write(StreamId id) {
  SendChunk chunk = lend(take(4000));
  (void)streams_->writer().write(id, std::move(chunk), take(8) == 0);
}

void Session::read(StreamId id) {
  Known& known = known_[id.value];
  std::vector<std::uint8_t> bytes;
  Result<ReadResult, StreamRefusal> result = StreamRefusal::kUnknownStream;
  if (take(2) == 0) {
    const Bytes readable = streams_->reader().peek(id);
    bytes.assign(readable.begin(), readable.end());
    bytes.resize(std::min<std::size_t>(bytes.size(), take(5000)));
    result = streams_->reader().consume(id, bytes.size(), now_);
  } else {
    bytes.resize(take(5000));
    result = streams_->reader().read(id, bytes, now_);
  }
  if (!result) return;
  require(!known.closed);
  require(result->bytes <= bytes.size());
  require(!result->reset || (result->bytes == 0 && !result->finished));
  for (std::size_t i = 0; i < result->bytes; ++i) {
    require(bytes[i] == pattern_byte(id, known.read + i));
  }
  known.read += result->bytes;
}

void Session::poll() {
  using Kind = StreamEvent::Kind;
  while (const auto event = streams_->poll_event()) {
    if (event->kind == Kind::kStreamsAvailable) continue;
    Known& known = known_[event->stream.value];
    require(!known.closed);
    if (event->kind == Kind::kClosed) known.closed = true;
  }
}

// Leaves what is next to the node that has it, in a run of packets that hold little.
void Session::order_remote() {
  while (const auto turn = streams_->outgoing().peek_remote({})) {
    const std::uint64_t bytes = std::min<std::uint64_t>(turn->segment.length, 1 + take(2000));
    const bool fin = turn->ends && bytes == turn->segment.length;
    streams_->outgoing().take_remote(*turn, bytes);
    if (take(2) == 0) streams_->outgoing().end_turn(turn->id, 1 + take(8), {});
    flying_.push_back({SentFrame::for_data(turn->id, turn->segment.offset,
                                           static_cast<std::uint32_t>(bytes), fin)});
    std::uint64_t& up_to = sent_up_to_[turn->id.value];
    up_to = std::max(up_to, turn->segment.offset + bytes);
    require(up_to <= std::max(initial_stream_limit_, max_stream_data_[turn->id.value]));
  }
}

void Session::send() {
  order_remote();
  std::vector<std::uint8_t> bytes(take(1500));
  Writer writer(bytes);
  const bool wanted =
      streams_->outgoing().has_control_to_send() || streams_->outgoing().has_data_to_send();
  if (streams_->outgoing().has_control_to_send()) streams_->outgoing().write_control(writer, sent_);
  if (streams_->outgoing().has_data_to_send()) streams_->outgoing().write_data(writer, sent_, {});
  require(!wanted || bytes.size() < 64 || writer.size() > 0);
  Reader reader(writer.written());
  while (!reader.empty()) {
    const auto frame = decode_frame(reader, PacketType::kOneRtt);
    require(bool(frame));
    if (const auto* reset = std::get_if<ResetStreamFrame>(&*frame)) {
      require(reset->final_size == sent_up_to_[reset->stream.value]);
    }
    const auto* data = std::get_if<StreamFrame>(&*frame);
    if (data == nullptr) continue;
    const std::uint64_t end = data->offset + data->data.size();
    require(end <= std::max(initial_stream_limit_, max_stream_data_[data->stream.value]));
    std::uint64_t& up_to = sent_up_to_[data->stream.value];
    up_to = std::max(up_to, end);
  }
  std::uint64_t total = 0;
  for (const auto& [id, up_to] : sent_up_to_) total += up_to;
  require(total <= max_data_);
  if (writer.size() > 0) {
    flying_.emplace_back(sent_.pending_frames().begin(), sent_.pending_frames().end());
  }
  sent_.discard_pending();
}

// Acknowledges a packet, or declares it lost. A lost packet may still be acknowledged later.
void Session::settle() {
  if (flying_.empty()) return;
  const std::size_t index = take(flying_.size());
  const bool lost = take(3) == 0;
  for (const SentFrame& frame : flying_[index]) {
    lost ? streams_->outgoing().on_lost(frame) : streams_->outgoing().on_acknowledged(frame);
  }
  if (lost && take(2) == 0) return;
  flying_[index] = std::move(flying_.back());
  flying_.pop_back();
}

}  // namespace
}  // namespace sheaf::quic

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  sheaf::quic::Session({data, size}).run();
  return 0;
}
