// Calls of `NativeEndpoint` about WebTransport sessions and their streams.
#include "binding/call_arguments.h"
#include "binding/call_results.h"
#include "binding/endpoint_calls.h"
#include "binding/endpoint_parts.h"
#include "binding/field_list.h"
#include "binding/javascript_buffer.h"
#include "io/monotonic_clock.h"

namespace sheaf::binding::calls {

namespace {

double refused() { return refusal_code(http3::Refusal::kConnectionClosed); }

}  // namespace

Napi::Value accept_session(EndpointParts& parts, const Napi::CallbackInfo& info) {
  webtransport::SessionSet* sessions = parts.sessions_of(info);
  if (!sessions) return number_value(info, refused());
  return number_value(
      info, outcome(sessions->accept(stream_argument(info), to_fields(info[2].As<Napi::Array>()),
                                     io::monotonic_now())));
}

Napi::Value reject_session(EndpointParts& parts, const Napi::CallbackInfo& info) {
  webtransport::SessionSet* sessions = parts.sessions_of(info);
  if (!sessions) return number_value(info, refused());
  const auto status = static_cast<unsigned>(number_argument(info, 2));
  return number_value(info, outcome(sessions->reject(stream_argument(info), status)));
}

Napi::Value request_session(EndpointParts& parts, const Napi::CallbackInfo& info) {
  webtransport::SessionSet* sessions = parts.sessions_of(info);
  if (!sessions) return number_value(info, refused());
  const auto session = sessions->connect(to_fields(info[1].As<Napi::Array>()));
  return number_value(
      info, session ? static_cast<double>(session->value) : refusal_code(session.error()));
}

void close_session(EndpointParts& parts, const Napi::CallbackInfo& info) {
  webtransport::SessionSet* sessions = parts.sessions_of(info);
  if (!sessions) return;
  sessions->close(stream_argument(info),
                  {static_cast<std::uint32_t>(number_argument(info, 2)), text_argument(info, 3)});
}

void drain_session(EndpointParts& parts, const Napi::CallbackInfo& info) {
  if (webtransport::SessionSet* sessions = parts.sessions_of(info))
    sessions->drain(stream_argument(info));
}

Napi::Value open_session_stream(EndpointParts& parts, const Napi::CallbackInfo& info) {
  webtransport::SessionSet* sessions = parts.sessions_of(info);
  if (!sessions) return number_value(info, refused());
  const auto direction = flag_argument(info, 2) ? quic::Directionality::kUnidirectional
                                                : quic::Directionality::kBidirectional;
  const auto stream = sessions->streams().open(stream_argument(info), direction);
  return number_value(info, stream ? static_cast<double>(stream->value)
                                   : refusal_code(http3::Refusal::kStreamLimit));
}

Napi::Value write_session_stream(EndpointParts& parts, const Napi::CallbackInfo& info) {
  webtransport::SessionSet* sessions = parts.sessions_of(info);
  if (!sessions) return number_value(info, refused());
  const auto bytes = as_bytes(info[2]);
  quic::SendChunk chunk = bytes && bytes->ByteLength() > 0 ? lend(*bytes) : quic::SendChunk{};
  const auto taken =
      sessions->streams().write(stream_argument(info), std::move(chunk), flag_argument(info, 3));
  return number_value(info, taken ? (*taken ? 1 : 0) : refusal_code(http3::Refusal::kWrongState));
}

Napi::Value session_stream_available(EndpointParts& parts, const Napi::CallbackInfo& info) {
  webtransport::SessionSet* sessions = parts.sessions_of(info);
  if (!sessions) return number_value(info, 0);
  const quic::StreamId stream = stream_argument(info);
  const std::uint64_t available = sessions->streams().readable_bytes(stream);
  if (available > 0) return number_value(info, static_cast<double>(available));
  const auto state = sessions->streams().consume(stream, 0, io::monotonic_now());
  return number_value(info, state && state->finished ? -1 : 0);
}

Napi::Value read_session_stream(EndpointParts& parts, const Napi::CallbackInfo& info) {
  webtransport::SessionSet* sessions = parts.sessions_of(info);
  auto into = as_bytes(info[2]);
  if (!sessions || !into) return number_value(info, 0);
  const auto read = sessions->streams().read(
      stream_argument(info), {into->Data(), into->ByteLength()}, io::monotonic_now());
  return number_value(info, read ? static_cast<double>(read->bytes) : 0);
}

void reset_session_stream(EndpointParts& parts, const Napi::CallbackInfo& info) {
  if (webtransport::SessionSet* sessions = parts.sessions_of(info)) {
    sessions->streams().reset(stream_argument(info),
                              static_cast<std::uint32_t>(number_argument(info, 2)));
  }
}

void stop_session_stream(EndpointParts& parts, const Napi::CallbackInfo& info) {
  if (webtransport::SessionSet* sessions = parts.sessions_of(info)) {
    sessions->streams().stop_sending(stream_argument(info),
                                     static_cast<std::uint32_t>(number_argument(info, 2)));
  }
}

Napi::Value send_session_datagram(EndpointParts& parts, const Napi::CallbackInfo& info) {
  webtransport::SessionSet* sessions = parts.sessions_of(info);
  const auto payload = as_bytes(info[2]);
  if (!sessions || !payload) return number_value(info, 0);
  const bool queued = sessions->datagrams().send(
      stream_argument(info), {payload->Data(), payload->ByteLength()}, flag_argument(info, 3));
  return number_value(info, queued ? 1 : 0);
}

void send_session_datagrams(EndpointParts& parts, const Napi::CallbackInfo& info) {
  webtransport::SessionSet* sessions = parts.sessions_of(info);
  const auto payloads = as_bytes(info[2]);
  if (!sessions || !payloads) return;
  quic::Bytes rest(payloads->Data(), payloads->ByteLength());
  const auto sizes = info[3].As<Napi::Uint32Array>();
  for (std::size_t i = 0; i < sizes.ElementLength() && sizes[i] <= rest.size(); ++i) {
    sessions->datagrams().send(stream_argument(info), rest.first(sizes[i]));
    rest = rest.subspan(sizes[i]);
  }
}

Napi::Value session_datagram_counts(EndpointParts& parts, const Napi::CallbackInfo& info) {
  webtransport::SessionSet* sessions = parts.sessions_of(info);
  const auto counts = sessions ? sessions->datagrams().counts(stream_argument(info)) : std::nullopt;
  if (!counts) return info.Env().Undefined();
  Napi::Object out = Napi::Object::New(info.Env());
  out.Set("sent", static_cast<double>(counts->sent));
  out.Set("acknowledged", static_cast<double>(counts->acknowledged));
  out.Set("lost", static_cast<double>(counts->lost));
  out.Set("expired", static_cast<double>(counts->expired));
  return out;
}

Napi::Value max_session_datagram(EndpointParts& parts, const Napi::CallbackInfo& info) {
  webtransport::SessionSet* sessions = parts.sessions_of(info);
  return number_value(
      info,
      sessions ? static_cast<double>(sessions->datagrams().max_payload(stream_argument(info))) : 0);
}

}  // namespace sheaf::binding::calls
