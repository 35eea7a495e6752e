#include "channel_authentication/stream_signatures.h"

#include <algorithm>

#include "channel_authentication/flight_hashes.h"

namespace sheaf::quic {
namespace {

constexpr std::string_view k_stream_label = "sheaf channel stream";

}  // namespace

StreamHashes::Stream* StreamHashes::find(std::uint64_t id) {
  const auto found = std::ranges::find_if(
      streams_, [&](const Stream& stream) { return stream.open && stream.id == id; });
  return found == streams_.end() ? nullptr : &*found;
}

bool StreamHashes::update(std::uint64_t id, Bytes bytes) {
  Stream* stream = find(id);
  if (stream == nullptr) {
    const auto free = std::ranges::find_if(streams_, [](const Stream& s) { return !s.open; });
    if (free == streams_.end()) return false;
    stream = &*free;
    stream->open = true;
    stream->id = id;
    stream->length = 0;
  }
  stream->length += bytes.size();
  stream->hash.update(bytes);
  return true;
}

std::optional<StreamHashes::Text> StreamHashes::finish(const ChannelId& channel, std::uint64_t id,
                                                       std::uint64_t& length) {
  Stream* stream = find(id);
  if (stream == nullptr) return std::nullopt;
  stream->open = false;
  length = stream->length;
  Text text;
  static_assert(k_stream_label.size() == 20);
  Writer out(text);
  out.write_bytes(as_bytes(k_stream_label));
  out.write_bytes(channel);
  fixed::write_u64(out, id);
  fixed::write_u64(out, length);
  out.write_bytes(stream->hash.finish());
  return text;
}

std::size_t StreamSigner::finish(std::uint64_t stream, MutableBytes room) {
  std::uint64_t length = 0;
  const auto text = hashes_.finish(channel_, stream, length);
  if (!text) return 0;
  const Ed25519Signature signature = key_.sign(*text);
  return encode_integrity_frame(
      StreamSignatureFrame{.stream = stream, .length = length, .signature = signature}, room);
}

bool StreamVerifier::finish(const StreamSignatureFrame& frame) {
  std::uint64_t length = 0;
  const auto text = hashes_.finish(channel_, frame.stream, length);
  if (!text || length != frame.length) return false;
  Ed25519Signature signature;
  std::ranges::copy(frame.signature, signature.begin());
  return source_.verify(*text, signature);
}

}  // namespace sheaf::quic
