#include "sim/tunnel/download.h"

#include <cassert>

#include "sim/pattern.h"

namespace sheaf::quic {

namespace {

constexpr std::uint64_t k_request_bytes = 60;

}  // namespace

Download::Download(ConnectionHost& client, ConnectionHost& server, std::uint64_t bytes)
    : client_(client), server_(server), bytes_(bytes) {
  client_.on_event = [this](const Event& event, Time now) {
    const auto* stream = std::get_if<StreamEvent>(&event);
    const bool readable = stream != nullptr && stream->kind == StreamEvent::Kind::kReadable;
    if (readable) read(stream->stream, now);
  };
  server_.on_event = [this](const Event& event, Time now) { on_server_event(event, now); };
}

void Download::start(Time now) {
  start_ = now;
  StreamWriter& writer = client_.connection.streams().writer();
  const auto opened = writer.open(Directionality::kBidirectional);
  assert(opened);
  stream_ = *opened;
  const Bytes request = pattern_from(0, k_request_bytes);
  const auto written = writer.write(stream_, SendChunk(request, nullptr, nullptr), true);
  assert(written);
  static_cast<void>(written);
}

void Download::on_server_event(const Event& event, Time now) {
  const auto* stream = std::get_if<StreamEvent>(&event);
  if (stream == nullptr || stream->stream != stream_) return;
  if (stream->kind == StreamEvent::Kind::kReadable) {
    StreamReader& reader = server_.connection.streams().reader();
    const auto result = reader.consume(stream_, reader.peek(stream_).size(), now);
    if (result && result->finished && !requested_) {
      requested_ = true;
      write();
    }
  }
  if (stream->kind == StreamEvent::Kind::kWritable) write();
}

void Download::stop() {
  bytes_ = written_;
  static_cast<void>(server_.connection.streams().writer().reset(stream_, 0));
}

void Download::write() {
  bool room = true;
  while (room && written_ < bytes_) {
    const Bytes piece = pattern_from(written_, bytes_ - written_);
    written_ += piece.size();
    const auto result = server_.connection.streams().writer().write(
        stream_, SendChunk(piece, nullptr, nullptr), written_ == bytes_);
    room = result && *result;
  }
}

void Download::read(StreamId stream, Time now) {
  StreamReader& reader = client_.connection.streams().reader();
  for (;;) {
    const Bytes bytes = reader.peek(stream);
    intact_ &= matches_pattern(bytes, received_);
    const auto result = reader.consume(stream, bytes.size(), now);
    if (!result) return;
    received_ += result->bytes;
    if (result->finished) {
      finished_ = true;
      end_ = now;
    }
    if (result->bytes == 0) return;
  }
}

}  // namespace sheaf::quic
