#include "http3/message_framing.h"

#include <nghttp3/nghttp3.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "http3/name_values.h"

namespace sheaf::http3 {
namespace {

// Ends the process after a failed call that can fail only without memory, or when this class
// misused nghttp3.
void require_success(int status) {
  if (status != 0) std::abort();
}

// Translates the result of a call about one message. A failure costs this message alone.
quic::Status<Refusal> outcome_of(int status) {
  switch (status) {
    case 0:
      return {};
    case NGHTTP3_ERR_NOMEM:
      std::abort();
    case NGHTTP3_ERR_STREAM_NOT_FOUND:
      return Refusal::kUnknownStream;
    case NGHTTP3_ERR_CONN_CLOSING:
      return Refusal::kGoingAway;
    default:
      return Refusal::kWrongState;
  }
}

std::string_view view_of(nghttp3_rcbuf* buffer) {
  const nghttp3_vec vector = nghttp3_rcbuf_get_buf(buffer);
  return {reinterpret_cast<const char*>(vector.base), vector.len};
}

StreamId stream_of(std::int64_t id) { return {static_cast<std::uint64_t>(id)}; }
std::int64_t id_of(StreamId stream) { return static_cast<std::int64_t>(stream.value); }

ConnectionError error_of(nghttp3_ssize status) {
  const int code = static_cast<int>(status);
  // RFC 9204 has no code for a field beyond the decoder's limits, so it counts as excessive load.
  if (code == NGHTTP3_ERR_QPACK_HEADER_TOO_LARGE) {
    return {ErrorCode::kExcessiveLoad, "field is too large"};
  }
  return {static_cast<ErrorCode>(nghttp3_err_infer_quic_app_error_code(code)),
          nghttp3_strerror(code)};
}

// Returns true when a member of a dictionary (RFC 8941 §3.2), which may have space around it, has a
// key.
bool has_key(std::string_view member) {
  member.remove_prefix(std::min(member.find_first_not_of(' '), member.size()));
  const std::string_view key = member.substr(0, member.find_first_of("=; "));
  const auto may_begin = [](char c) { return (c >= 'a' && c <= 'z') || c == '*'; };
  return !key.empty() && may_begin(key[0]) && std::ranges::all_of(key, [&](char c) {
    return may_begin(c) || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.';
  });
}

}  // namespace

// Functions that nghttp3 calls. The user data of its connection is the MessageFraming.
struct MessageFraming::Callbacks {
  static Listener& listener(void* user) { return static_cast<MessageFraming*>(user)->listener_; }

  static int field(nghttp3_conn*, std::int64_t id, std::int32_t, nghttp3_rcbuf* name,
                   nghttp3_rcbuf* value, std::uint8_t flags, void* user, void*) {
    const bool sensitive = (flags & NGHTTP3_NV_FLAG_NEVER_INDEX) != 0;
    listener(user).on_field(stream_of(id), {view_of(name), view_of(value), sensitive});
    return 0;
  }
  static int headers_end(nghttp3_conn*, std::int64_t id, int, void* user, void*) {
    listener(user).on_fields_end(stream_of(id), false);
    return 0;
  }
  static int trailers_end(nghttp3_conn*, std::int64_t id, int, void* user, void*) {
    listener(user).on_fields_end(stream_of(id), true);
    return 0;
  }
  static int unblocked(nghttp3_conn*, std::int64_t id, std::size_t bytes, void* user, void*) {
    listener(user).on_unblocked(stream_of(id), bytes);
    return 0;
  }
  static int message_error(nghttp3_conn*, std::int64_t id, std::uint64_t error, void* user, void*) {
    listener(user).on_message_error(stream_of(id), error);
    return 0;
  }
  static nghttp3_ssize body(nghttp3_conn*, std::int64_t id, nghttp3_vec* vectors,
                            std::size_t capacity, std::uint32_t* flags, void* user, void*) {
    std::array<Bytes, 8> chunks;
    bool end = false;
    const std::size_t count = listener(user).next_body(
        stream_of(id), std::span(chunks).first(std::min(capacity, chunks.size())), end);
    if (count == 0 && !end) return NGHTTP3_ERR_WOULDBLOCK;
    for (std::size_t i = 0; i < count; ++i) {
      // nghttp3 does not write here, although the type of its pointer lacks const.
      vectors[i] = {const_cast<std::uint8_t*>(chunks[i].data()), chunks[i].size()};
    }
    if (end) *flags |= NGHTTP3_DATA_FLAG_EOF;
    return static_cast<nghttp3_ssize>(count);
  }
};

MessageFraming::MessageFraming(Role role, const Settings& local, Listener& listener)
    : listener_(listener), role_(role), keeps_fields_(local.qpack_max_table_capacity > 0) {
  nghttp3_callbacks callbacks{};
  callbacks.recv_header = Callbacks::field;
  callbacks.recv_trailer = Callbacks::field;
  callbacks.end_headers = Callbacks::headers_end;
  callbacks.end_trailers = Callbacks::trailers_end;
  callbacks.deferred_consume = Callbacks::unblocked;
  callbacks.stop_sending = Callbacks::message_error;
  callbacks.reset_stream = Callbacks::message_error;
  nghttp3_settings settings;
  nghttp3_settings_default(&settings);
  settings.max_field_section_size = local.max_field_section_size;
  settings.qpack_max_dtable_capacity = local.qpack_max_table_capacity;
  settings.qpack_blocked_streams = local.qpack_blocked_streams;
  settings.enable_connect_protocol = local.enable_connect_protocol;
  settings.h3_datagram = local.datagrams;
  const int status =
      role == Role::kServer
          ? nghttp3_conn_server_new(&connection_, &callbacks, &settings, nullptr, this)
          : nghttp3_conn_client_new(&connection_, &callbacks, &settings, nullptr, this);
  require_success(status);
}

MessageFraming::~MessageFraming() { nghttp3_conn_del(connection_); }

void MessageFraming::bind_qpack_streams(StreamId encoder, StreamId decoder) {
  require_success(nghttp3_conn_bind_qpack_streams(connection_, id_of(encoder), id_of(decoder)));
  bound_ = true;
}

// nghttp3 learns the peer's limits from a control stream alone. It is given one that carries
// nothing but these limits.
ConnectionStatus MessageFraming::apply_peer_settings(StreamId control_stream,
                                                     const Settings& settings) {
  Settings known;
  known.qpack_max_table_capacity = settings.qpack_max_table_capacity;
  known.qpack_blocked_streams = settings.qpack_blocked_streams;
  known.max_field_section_size = settings.max_field_section_size;
  const std::vector<std::uint8_t> payload = encode_settings(known, 0);
  std::array<std::uint8_t, 160> stream;
  quic::Writer writer(stream);
  writer.write_varint(0x00);  // stream type: control
  writer.write_varint(0x04);  // frame type: SETTINGS
  writer.write_varint(payload.size());
  writer.write_bytes(payload);
  const auto result = read(control_stream, writer.written(), false);
  return result ? ConnectionStatus() : ConnectionStatus(result.error());
}

quic::Result<std::size_t, ConnectionError> MessageFraming::read(StreamId stream, Bytes bytes,
                                                                bool fin) {
  const nghttp3_ssize used =
      nghttp3_conn_read_stream(connection_, id_of(stream), bytes.data(), bytes.size(), fin);
  if (used == NGHTTP3_ERR_MALFORMED_HTTP_MESSAGING) {
    // RFC 9114 §4.1.2: a body whose length differs from Content-Length costs the stream.
    listener_.on_message_error(stream, value_of(ErrorCode::kMessageError));
    return bytes.size();
  }
  if (used < 0) return error_of(used);
  return static_cast<std::size_t>(used);
}

quic::Status<Refusal> MessageFraming::submit_request(StreamId stream, const FieldSection& fields,
                                                     bool has_body) {
  const auto values = name_values_of(fields);
  const nghttp3_data_reader reader{Callbacks::body};
  return outcome_of(nghttp3_conn_submit_request(connection_, id_of(stream), values.data(),
                                                values.size(), has_body ? &reader : nullptr,
                                                nullptr));
}

quic::Status<Refusal> MessageFraming::submit_informational(StreamId stream,
                                                           const FieldSection& fields) {
  const auto values = name_values_of(fields);
  return outcome_of(
      nghttp3_conn_submit_info(connection_, id_of(stream), values.data(), values.size()));
}

quic::Status<Refusal> MessageFraming::submit_response(StreamId stream, const FieldSection& fields,
                                                      bool has_body) {
  const auto values = name_values_of(fields);
  const nghttp3_data_reader reader{Callbacks::body};
  return outcome_of(nghttp3_conn_submit_response(connection_, id_of(stream), values.data(),
                                                 values.size(), has_body ? &reader : nullptr));
}

quic::Status<Refusal> MessageFraming::submit_trailers(StreamId stream, const FieldSection& fields) {
  const auto values = name_values_of(fields);
  return outcome_of(
      nghttp3_conn_submit_trailers(connection_, id_of(stream), values.data(), values.size()));
}

quic::Result<bool, ConnectionError> MessageFraming::poll_output(Output& output) {
  std::array<nghttp3_vec, 16> vectors;
  std::int64_t id = -1;
  int fin = 0;
  const nghttp3_ssize count =
      nghttp3_conn_writev_stream(connection_, &id, &fin, vectors.data(), vectors.size());
  if (count < 0) return error_of(count);
  if (id < 0) return false;
  output.stream = stream_of(id);
  output.fin = fin != 0;
  output.part_count = static_cast<std::size_t>(count);
  for (std::size_t i = 0; i < output.part_count; ++i) {
    output.parts[i] = {vectors[i].base, vectors[i].len};
  }
  return true;
}

void MessageFraming::on_written(const Output& output) {
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < output.part_count; ++i) bytes += output.parts[i].size();
  nghttp3_conn_add_write_offset(connection_, id_of(output.stream), bytes);
  // No memory of nghttp3 is referred to any more, and body chunks have moved to the transport.
  nghttp3_conn_add_ack_offset(connection_, id_of(output.stream), bytes);
}

void MessageFraming::block(StreamId stream) {
  nghttp3_conn_block_stream(connection_, id_of(stream));
}
void MessageFraming::unblock(StreamId stream) {
  nghttp3_conn_unblock_stream(connection_, id_of(stream));
}
void MessageFraming::resume(StreamId stream) {
  nghttp3_conn_resume_stream(connection_, id_of(stream));
}
ConnectionStatus MessageFraming::shut_reading(StreamId stream) {
  // RFC 9204 §2.2.2.2: nothing refers to a table without room. nghttp3 would say so, and as an
  // encoder closes a connection that says so some 1,400 times without a new message in between.
  if (!keeps_fields_) return {};
  const int status = nghttp3_conn_shutdown_stream_read(connection_, id_of(stream));
  return status == 0 ? ConnectionStatus() : ConnectionStatus(error_of(status));
}
void MessageFraming::shut_writing(StreamId stream) {
  nghttp3_conn_shutdown_stream_write(connection_, id_of(stream));
}
void MessageFraming::close_stream(StreamId stream, std::uint64_t error) {
  nghttp3_conn_close_stream(connection_, id_of(stream), error);
}

StreamPriority MessageFraming::priority(StreamId stream) const {
  nghttp3_pri priority;
  if (role_ != Role::kServer ||
      nghttp3_conn_get_stream_priority(connection_, &priority, id_of(stream)) != 0) {
    return {};
  }
  return {static_cast<std::uint8_t>(priority.urgency), priority.inc != 0};
}

void MessageFraming::set_priority(StreamId stream, const StreamPriority& priority) {
  if (role_ != Role::kServer) return;
  nghttp3_pri value{};
  value.urgency = priority.urgency;
  value.inc = priority.incremental;
  nghttp3_conn_set_server_stream_priority(connection_, id_of(stream), &value);
}

bool MessageFraming::valid(const Field& field) {
  // RFC 9114 §4.2 forbids upper case, which nghttp3 accepts.
  for (const char c : field.name) {
    if (c >= 'A' && c <= 'Z') return false;
  }
  return nghttp3_check_header_name(bytes_of_text(field.name), field.name.size()) != 0 &&
         nghttp3_check_header_value(bytes_of_text(field.value), field.value.size()) != 0;
}

std::optional<StreamPriority> MessageFraming::parse_priority(Bytes value) {
  nghttp3_pri priority{};
  priority.urgency = NGHTTP3_DEFAULT_URGENCY;
  const auto parse = [&priority](std::string_view text) {
    return nghttp3_pri_parse_priority(&priority, bytes_of_text(text), text.size()) == 0;
  };
  std::string_view rest(reinterpret_cast<const char*>(value.data()), value.size());
  // RFC 9218 §4: members of a wrong type or out of range are ignored one by one. nghttp3 would
  // refuse the whole field.
  for (bool whole = parse(rest); !whole;) {
    const std::size_t comma = rest.find(',');
    const std::string_view member = rest.substr(0, comma);
    if (!parse(member) && !has_key(member)) return std::nullopt;
    whole = comma == std::string_view::npos;
    if (!whole) rest.remove_prefix(comma + 1);
  }
  return StreamPriority{static_cast<std::uint8_t>(priority.urgency), priority.inc != 0};
}

}  // namespace sheaf::http3
