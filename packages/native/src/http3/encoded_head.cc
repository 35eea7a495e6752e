#include "http3/encoded_head.h"

#include <cstdlib>

#include "http3/frame_type.h"
#include "http3/message_framing.h"
#include "http3/name_values.h"

namespace sheaf::http3 {

namespace {

constexpr std::uint64_t k_no_stream = 0;  // matters only to a dynamic table
// The least of the reserved types (RFC 9114 §7.2.8), of 1 byte
constexpr std::uint64_t k_frame_padding = 0x21;
// Its type and an empty length
constexpr std::size_t k_least_padding = 2;

bool has_data_frame(std::optional<std::uint64_t> body_length) {
  return body_length && *body_length > 0;
}

}  // namespace

std::optional<std::vector<std::uint8_t>> encode_head(const FieldSection& fields) {
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (!MessageFraming::valid(fields[i])) return std::nullopt;
  }
  const nghttp3_mem* const memory = nghttp3_mem_default();
  nghttp3_qpack_encoder* encoder = nullptr;
  // Fails only without memory.
  if (nghttp3_qpack_encoder_new(&encoder, 0, memory) != 0) std::abort();
  nghttp3_buf prefix;
  nghttp3_buf section;
  nghttp3_buf instructions;
  for (nghttp3_buf* buffer : {&prefix, &section, &instructions}) nghttp3_buf_init(buffer);
  const std::vector<nghttp3_nv> values = name_values_of(fields);
  const int status = nghttp3_qpack_encoder_encode(encoder, &prefix, &section, &instructions,
                                                  k_no_stream, values.data(), values.size());
  if (status != 0) std::abort();
  std::optional<std::vector<std::uint8_t>> head;
  if (nghttp3_buf_len(&prefix) + nghttp3_buf_len(&section) <= k_max_encoded_head) {
    head.emplace(prefix.pos, prefix.last);
    head->insert(head->end(), section.pos, section.last);
  }
  for (nghttp3_buf* buffer : {&prefix, &section, &instructions}) nghttp3_buf_free(buffer, memory);
  nghttp3_qpack_encoder_del(encoder);
  return head;
}

bool refers_to_no_table(quic::Bytes head) {
  return head.size() > 2 && head[0] == 0 && head[1] == 0;
}

std::vector<std::uint8_t> frame_head(quic::Bytes head, std::optional<std::uint64_t> body_length) {
  std::vector<std::uint8_t> framed(framed_size(head.size(), body_length));
  quic::Writer writer(framed);
  writer.write_varint(k_frame_headers);
  writer.write_varint(head.size());
  writer.write_bytes(head);
  if (has_data_frame(body_length)) {
    writer.write_varint(k_frame_data);
    writer.write_varint(*body_length);
  }
  return framed;
}

std::size_t framed_size(std::size_t head_size, std::optional<std::uint64_t> body_length) {
  const std::size_t headers =
      quic::varint_size(k_frame_headers) + quic::varint_size(head_size) + head_size;
  if (!has_data_frame(body_length)) return headers;
  return headers + quic::varint_size(k_frame_data) + quic::varint_size(*body_length);
}

std::uint64_t padded_size(std::uint64_t size, std::uint64_t least) {
  return size + k_least_padding <= least ? least : size;
}

std::vector<std::uint8_t> padding_frame(std::size_t size) {
  std::vector<std::uint8_t> frame(size);
  if (size < k_least_padding) return frame;
  quic::Writer writer(frame);
  writer.write_varint(k_frame_padding);
  // A length may have more bytes than it needs (RFC 9000 §16).
  const std::size_t length_bytes = size == k_least_padding ? 1 : 2;
  writer.write_varint(size - 1 - length_bytes, length_bytes);
  return frame;
}

}  // namespace sheaf::http3
