#include "stream/receive_progress.h"

namespace sheaf::quic {

void ReceiveProgress::consume(Stream& stream, std::uint64_t bytes) {
  if (stream.receive.consume(bytes, limits_.receive_context())) announce_window(stream);
  if (stream.receive.reset_error()) tell_reset(stream);
}

void ReceiveProgress::finish_read(Stream& stream, ReadResult& result) {
  result.finished = stream.receive.take_end();
  if (result.bytes == 0) result.reset = stream.receive.reset_error();
  if (result.reset) stream.receive.on_reset_read();
  limits_.announce_receive_window();
  open_.close_if_finished(stream);
}

void ReceiveProgress::tell_reset(Stream& stream) {
  limits_.announce_receive_window();
  lanes_.cancel_control(stream, Stream::k_max_stream_data | Stream::k_stop_sending);
  events_.push(stream, StreamEvent::Kind::kReadable);
  events_.push(stream, StreamEvent::Kind::kReset);
  open_.close_if_finished(stream);
}

void ReceiveProgress::widen_over_gap(Stream& stream) {
  if (!stream.receive.widen_over_gap(limits_.now)) return;
  announce_window(stream);
  // Announces here, since no consumed data would move the window of the connection.
  limits_.receive.announce();
  limits_.announce_receive_window();
}

void ReceiveProgress::announce_window(Stream& stream) {
  lanes_.request_control(stream, Stream::k_max_stream_data);
  limits_.receive.widen(stream.receive.window().window() * 3 / 2);
}

}  // namespace sheaf::quic
