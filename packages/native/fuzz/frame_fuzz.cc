#include <cstdlib>
#include <vector>

#include "wire/frame_codec.h"

// Decodes a whole packet of frames. Checks that what decodes can be encoded again into bytes that
// decode to the same, and that the decoder of PATH_ACK alone agrees with the decoder of all frames.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sheaf::quic;
  if (size == 0) return 0;
  const PacketType packet_type = data[0] & 1 ? PacketType::kOneRtt : PacketType::kZeroRtt;
  Reader reader{Bytes{data + 1, size - 1}};
  while (!reader.empty()) {
    Reader quick = reader;
    PathAckFrame acknowledgement;
    const bool is_path_ack = read_path_ack_frame(quick, acknowledgement);
    const auto frame = decode_frame(reader, packet_type);
    const bool decoded_path_ack = frame && std::holds_alternative<PathAckFrame>(*frame);
    if (packet_type == PacketType::kOneRtt && is_path_ack != decoded_path_ack) std::abort();
    if (!frame) break;
    std::vector<std::uint8_t> first(encoded_size(*frame));
    Writer writer{first};
    encode(writer, *frame);
    Reader again{first};
    const auto copy = decode_frame(again, packet_type);
    if (!copy || !again.empty() || copy->index() != frame->index()) std::abort();
    std::vector<std::uint8_t> second(encoded_size(*copy));
    Writer rewriter{second};
    encode(rewriter, *copy);
    if (first != second) std::abort();
    const auto* path_ack = std::get_if<PathAckFrame>(&*frame);
    if (const auto* ack = path_ack ? &path_ack->ack : std::get_if<AckFrame>(&*frame)) {
      AckRangeReader ranges{*ack};
      PacketNumber smallest = ack->largest, range_first = 0, range_last = 0;
      while (ranges.next(range_first, range_last)) {
        if (range_first > range_last || range_last > smallest) std::abort();
        smallest = range_first;
      }
    }
  }
  return 0;
}
