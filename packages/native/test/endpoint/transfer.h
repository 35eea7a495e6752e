#pragma once

#include <map>
#include <string>
#include <vector>

#include "endpoint/endpoint_pair.h"

namespace sheaf::quic {

// Returns bytes of a stream that reveal a misplacement: position and stream determine each byte.
inline std::vector<std::uint8_t> pattern(StreamId stream, std::uint64_t offset, std::size_t size) {
  std::vector<std::uint8_t> out(size);
  for (std::size_t i = 0; i < size; ++i) {
    const std::uint64_t at = offset + i;
    out[i] = static_cast<std::uint8_t>(at * 31 + (at >> 8) * 7 + stream.value * 13);
  }
  return out;
}

// Reads all streams of one connection and checks them against `pattern`.
struct Receiver {
  std::map<std::uint64_t, std::uint64_t> received;  // bytes by stream
  std::map<std::uint64_t, bool> finished;
  bool intact = true;

  // Must be called after each step, with the events of the connection.
  void drain(ConnectionDriver& driver, std::vector<Event>& events, Time now) {
    for (const Event& event : events) {
      const auto* stream_event = std::get_if<StreamEvent>(&event);
      if (!stream_event || stream_event->kind != StreamEvent::Kind::kReadable) continue;
      read(driver, stream_event->stream, now);
    }
    std::erase_if(events, [](const Event& event) {
      const auto* stream_event = std::get_if<StreamEvent>(&event);
      return stream_event && stream_event->kind == StreamEvent::Kind::kReadable;
    });
  }

  void read(ConnectionDriver& driver, StreamId stream, Time now) {
    std::array<std::uint8_t, 4096> buffer;
    for (;;) {
      const auto result = driver.connection().streams().reader().read(stream, buffer, now);
      if (!result) return;
      std::uint64_t& total = received[stream.value];
      const auto expected = pattern(stream, total, result->bytes);
      intact = intact && std::equal(expected.begin(), expected.end(), buffer.begin());
      total += result->bytes;
      if (result->finished) finished[stream.value] = true;
      if (result->bytes == 0) return;
    }
  }
};

}  // namespace sheaf::quic
