#include "http3/own_streams.h"

#include <array>

#include "http3/frame_type.h"

namespace sheaf::http3 {

void OwnStreams::start() {
  started_ = true;
  open();
}

void OwnStreams::open() {
  Transport& transport = parts_.transport;
  while (!parts_.closed && started_ && ids_.size() < 3) {
    const auto stream = transport.open_stream(Directionality::kUnidirectional);
    if (!stream) return;
    ids_.push_back(*stream);
    // These streams precede all responses. A page may have the first urgency, while its fields wait
    // for instructions of QPACK.
    transport.set_priority(*stream, {.ahead = true});
    if (ids_.size() == 1) {
      constexpr std::uint8_t type[] = {k_stream_control};
      static_cast<void>(transport.write(*stream, SendChunk::copy_of(type), false));
      control_written_ = 1;
      const Settings settings = parts_.config.settings(transport.role());
      write_control_frame(k_frame_settings, encode_settings(settings, random_.next()));
    }
    if (ids_.size() == 3) parts_.framing.bind_qpack_streams(ids_[1], ids_[2]);
  }
}

void OwnStreams::write_control_frame(std::uint64_t type, Bytes payload) {
  scratch_.resize(16 + payload.size());
  quic::Writer writer(scratch_);
  writer.write_varint(type);
  writer.write_varint(payload.size());
  writer.write_bytes(payload);
  static_cast<void>(parts_.transport.write(ids_[0], SendChunk::copy_of(writer.written()), false));
  control_written_ += writer.size();
}

void OwnStreams::announce_shutdown() {
  if (!has_control() || announcement_end_ != 0) return;
  write_go_away(quic::k_max_varint - 3);  // RFC 9114 §5.2: the largest possible request id
  announcement_end_ = control_written_;
}

void OwnStreams::write_go_away(std::uint64_t first_refused) {
  std::array<std::uint8_t, 8> payload;
  quic::Writer writer(payload);
  writer.write_varint(first_refused);
  write_control_frame(k_frame_go_away, writer.written());
}

}  // namespace sheaf::http3
