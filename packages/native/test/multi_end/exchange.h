#pragma once

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "connection/connection.h"

namespace sheaf::quic {

// A request consists of eight bytes with the size that the client wants, followed by any upload.
// The response of that size follows the end of the request.
inline std::uint8_t answer_byte(std::uint64_t offset) {
  return static_cast<std::uint8_t>(offset % 65521 ^ offset >> 9);
}

inline std::vector<std::uint8_t> answer_bytes(std::uint64_t from, std::uint64_t length) {
  std::vector<std::uint8_t> bytes(length);
  for (std::uint64_t i = 0; i < length; ++i) bytes[i] = answer_byte(from + i);
  return bytes;
}

class ServerExchange {
 public:
  explicit ServerExchange(Connection& connection) : connection_(connection) {}

  void on_event(const Event& event, Time now) {
    const auto* news = std::get_if<StreamEvent>(&event);
    if (!news) return;
    if (news->kind == StreamEvent::Kind::kReadable) read(news->stream, now);
    if (news->kind == StreamEvent::Kind::kWritable) write(news->stream);
    if (news->kind == StreamEvent::Kind::kClosed) requests.erase(news->stream.value);
  }

  struct Request {
    std::vector<std::uint8_t> head;
    std::uint64_t uploaded = 0;
    std::uint64_t wanted = 0;
    std::uint64_t written = 0;
    bool answers = false;
  };
  std::map<std::uint64_t, Request> requests;
  std::uint64_t uploaded = 0;  // by all, intact
  std::uint64_t finished_uploads = 0;

 private:
  void read(StreamId stream, Time now) {
    Request& request = requests[stream.value];
    std::vector<std::uint8_t> buffer(65536);
    for (;;) {
      const auto result = connection_.streams().reader().read(stream, buffer, now);
      if (!result) return;
      for (std::size_t i = 0; i < result->bytes; ++i) {
        if (request.head.size() < 8) {
          request.head.push_back(buffer[i]);
        } else if (buffer[i] == answer_byte(request.uploaded++)) {
          ++uploaded;
        }
      }
      if (result->finished && request.head.size() == 8) {
        request.wanted = load<std::uint64_t>(request.head.data());
        request.answers = true;
        ++finished_uploads;
        return write(stream);
      }
      if (result->bytes == 0) return;
    }
  }
  void write(StreamId stream) {
    Request& request = requests[stream.value];
    if (!request.answers) return;
    bool room = true;
    do {
      const std::uint64_t size = std::min<std::uint64_t>(65536, request.wanted - request.written);
      const auto bytes = answer_bytes(request.written, size);
      request.written += size;
      const bool end = request.written == request.wanted;
      const auto result =
          connection_.streams().writer().write(stream, SendChunk::copy_of(bytes), end);
      room = result && *result;
      if (end) request.answers = false;
    } while (room && request.answers);
  }

  Connection& connection_;
};

class ClientExchange {
 public:
  explicit ClientExchange(Connection& connection) : connection_(connection) {}

  struct Answer {
    std::uint64_t received = 0;
    bool intact = true;
    bool finished = false;
    std::optional<std::uint64_t> lost;  // bytes that had arrived by then
    Time asked;
    std::optional<Time> first_byte;
  };

  // Sends the request to the backend at that path, or to the primary.
  std::optional<StreamId> ask(std::optional<PathId> path, std::uint64_t bytes, Time now,
                              std::uint64_t upload = 0) {
    const auto stream = connection_.streams().writer().open(Directionality::kBidirectional);
    if (!stream || (path && !connection_.paths().pin(*stream, *path))) return std::nullopt;
    answers[stream->value].asked = now;
    std::uint8_t head[8];
    store(head, bytes);
    static_cast<void>(
        connection_.streams().writer().write(*stream, SendChunk::copy_of(head), upload == 0));
    for (std::uint64_t at = 0; at < upload;) {
      const std::uint64_t size = std::min<std::uint64_t>(65536, upload - at);
      const auto body = answer_bytes(at, size);
      at += size;
      static_cast<void>(
          connection_.streams().writer().write(*stream, SendChunk::copy_of(body), at == upload));
    }
    return *stream;
  }
  void on_event(const Event& event, Time now) {
    const auto* news = std::get_if<StreamEvent>(&event);
    if (!news) return;
    if (news->kind == StreamEvent::Kind::kReadable) {
      if (paused_) return waiting_.push_back(news->stream);
      read(news->stream, now);
    }
    if (news->kind == StreamEvent::Kind::kLost) {
      read(news->stream, now);
      answers[news->stream.value].lost = news->value;
    }
  }
  // The application reads nothing for a while.
  void pause() { paused_ = true; }
  void resume(Time now) {
    paused_ = false;
    for (const StreamId stream : std::exchange(waiting_, {})) read(stream, now);
  }
  Answer& answer(StreamId stream) { return answers[stream.value]; }
  bool all_finished() const {
    return std::ranges::all_of(
        answers, [](const auto& entry) { return entry.second.finished && entry.second.intact; });
  }

  std::map<std::uint64_t, Answer> answers;

 private:
  void read(StreamId stream, Time now) {
    Answer& answer = answers[stream.value];
    std::vector<std::uint8_t> buffer(65536);
    for (;;) {
      const auto result = connection_.streams().reader().read(stream, buffer, now);
      if (!result) return;
      for (std::size_t i = 0; i < result->bytes; ++i) {
        answer.intact &= buffer[i] == answer_byte(answer.received++);
      }
      if (result->bytes > 0 && !answer.first_byte) answer.first_byte = now;
      answer.finished |= result->finished;
      if (result->bytes == 0) return;
    }
  }

  Connection& connection_;
  bool paused_ = false;
  std::vector<StreamId> waiting_;
};

}  // namespace sheaf::quic
