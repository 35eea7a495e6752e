// Calls of `NativeEndpoint` about direct server return (docs/internals/direct-return.md).
#include <array>

#include "binding/call_arguments.h"
#include "binding/call_results.h"
#include "binding/endpoint_calls.h"
#include "binding/endpoint_parts.h"
#include "binding/javascript_buffer.h"
#include "binding/return_socket_object.h"
#include "binding/system_error.h"
#include "crypto/wipe.h"
#include "http3/encoded_head.h"
#include "io/monotonic_clock.h"
#include "switchboard/executor_host.h"
#include "switchboard/file_payload.h"
#include "switchboard/orders_host.h"

namespace sheaf::binding::calls {

namespace {

// Number of `OfferRefusal` in lib/addon.ts, beside those of `quic::OfferRefusal`
constexpr double k_ended = -20;

// Numbers of `GrantRefusal` in lib/addon.ts, beside those of `quic::GrantRefusal`
constexpr double k_malformed = -20;
constexpr double k_no_session = -21;
constexpr double k_busy = -22;

// Names of quic::RunRefusal
constexpr std::array<const char*, quic::k_run_refusals> k_run_refusals{
    "late", "low", "otherPhase", "outOfBounds", "noData", "paused", "tooMany", "broken"};

// The connection of a long request, and the request; nothing when it is gone or not HTTP/3.
std::optional<switchboard::RunChannel::Request> channel_request(EndpointParts& parts,
                                                                HostedConnection* hosted,
                                                                quic::StreamId stream) {
  if (!hosted || !hosted->http3()) return std::nullopt;
  return switchboard::RunChannel::Request{*parts.loop, hosted->driver(), *hosted->http3(), stream};
}

uv_loop_t* loop_of(const Napi::CallbackInfo& info) {
  uv_loop_t* loop = nullptr;
  napi_get_uv_event_loop(info.Env(), &loop);
  return loop;
}

// Reads 8 bytes that name a process.
std::uint64_t process_argument(const Napi::CallbackInfo& info, std::size_t index) {
  const auto bytes = as_bytes(info[index]);
  if (!bytes) return 0;
  quic::Reader reader(quic::Bytes(bytes->Data(), bytes->ByteLength()));
  const std::uint64_t high = reader.read_u32();
  return high << 32 | reader.read_u32();
}

std::uint32_t session_argument(const Napi::CallbackInfo& info, std::size_t index) {
  return static_cast<std::uint32_t>(number_argument(info, index));
}

// Keeps a session with the connection that carries it. Returns its number.
template <typename Host>
Napi::Value keep(const Napi::CallbackInfo& info, HostedConnection& hosted,
                 quic::Result<std::unique_ptr<Host>, io::SocketError> opened) {
  if (!opened) {
    system_error(info.Env(), opened.error()).ThrowAsJavaScriptException();
    return info.Env().Undefined();
  }
  const auto number = (*opened)->number();
  hosted.node_session = std::move(*opened);
  return number_value(info, number);
}

}  // namespace

// --- a gateway ----------------------------------------------------------------------------------

// Arguments: connection, stream, counter of the session, process of the gateway, of the backend.
Napi::Value open_orders(EndpointParts& parts, const Napi::CallbackInfo& info) {
  HostedConnection* hosted = parts.connection_of(info);
  const auto request = channel_request(parts, hosted, stream_argument(info));
  if (!request) return number_value(info, 0);
  const quic::RunOrders::Config config{.session = session_argument(info, 2),
                                       .process = process_argument(info, 3),
                                       .backend_process = process_argument(info, 4)};
  hosted->node_session.reset();
  return keep(info, *hosted,
              switchboard::OrdersHost::open(loop_of(info), *request, config, *parts.switchboard));
}

// Arguments: connection, stream, number of the session, whether the backend takes paths with
// recovery of its own. Returns the grant, which contains keys, or a refusal.
Napi::Value offer_stream(EndpointParts& parts, const Napi::CallbackInfo& info) {
  HostedConnection* hosted = parts.connection_of(info);
  switchboard::OrdersHost* orders = parts.switchboard->orders(session_argument(info, 2));
  if (!parts.settings.offers_responses) {
    Napi::Error::New(info.Env(), "the server was made without offersResponses")
        .ThrowAsJavaScriptException();
    return info.Env().Undefined();
  }
  if (!hosted || !hosted->http3() || !orders) return number_value(info, k_ended);
  if (!parts.delegations) {
    auto opened = switchboard::Delegations::open(loop_of(info), *parts.loop, *parts.switchboard);
    if (!opened) return number_value(info, k_ended);
    parts.delegations = std::move(*opened);
  }
  std::optional<quic::ReturnStart> own;
  // The gateway writes the head of the response itself, so that it can proxy until it has done so.
  if (flag_argument(info, 3)) own = quic::ReturnStart::kWhenAccepted;
  const auto grant = parts.delegations->of(hosted->driver())
                         .offer(stream_argument(info), orders->orders(), io::monotonic_now(), own);
  if (!grant) return number_value(info, refusal_code(grant.error()));
  std::vector<std::uint8_t> bytes = quic::encode_grant(*grant);
  const Napi::Value buffer =
      Napi::Buffer<std::uint8_t>::Copy(info.Env(), bytes.data(), bytes.size());
  quic::wipe(bytes.data(), bytes.size());
  return buffer;
}

// Arguments: connection, stream, encoded head, length of the body. Returns the offset of the body's
// first byte in the stream, or a refusal.
Napi::Value hand_off(EndpointParts& parts, const Napi::CallbackInfo& info) {
  const auto refuse = [&](http3::Refusal why) { return number_value(info, refusal_code(why)); };
  HostedConnection* hosted = parts.connection_of(info);
  if (!hosted || !hosted->http3()) return refuse(http3::Refusal::kConnectionClosed);
  const auto head = as_bytes(info[2]);
  quic::DelegatedStreams* streams =
      parts.delegations ? parts.delegations->find(hosted->driver()) : nullptr;
  if (!head || !streams) return refuse(http3::Refusal::kWrongState);
  const quic::StreamId stream = stream_argument(info);
  const std::uint64_t length = number_argument(info, 3);
  const quic::Time now = io::monotonic_now();
  const std::uint64_t start = http3::framed_size(head->ByteLength(), length);
  std::uint64_t begun = streams->first_bytes(stream);
  const std::uint64_t end = http3::padded_size(start + length, begun);
  if (end < begun) {
    streams->drop_first(stream, now);
    begun = 0;
  }
  const auto not_accepted = [&] {
    const bool wanted = hosted->driver().connection().extension().streams().remote().wanted(stream);
    return refuse(wanted ? http3::Refusal::kWrongState : http3::Refusal::kUnknownStream);
  };
  // Behind the head no other response fits, so nothing is written for a grant that is gone.
  if (!streams->may_accept(stream, start, end)) return not_accepted();
  const auto status =
      hosted->http3()->hand_off(stream, {head->Data(), head->ByteLength()}, length, begun);
  if (!status) return refuse(status.error());
  if (!streams->accept(stream, end, now)) return not_accepted();
  return number_value(info, static_cast<double>(start));
}

// Arguments: connection, stream. Returns the offset in the stream before which the client has all
// bytes; 0 when the stream has closed.
Napi::Value acknowledged_offset(EndpointParts& parts, const Napi::CallbackInfo& info) {
  HostedConnection* hosted = parts.connection_of(info);
  if (!hosted) return number_value(info, 0);
  const auto& remote = hosted->driver().connection().extension().streams().remote();
  return number_value(info, static_cast<double>(remote.acknowledged(stream_argument(info))));
}

// Arguments: connection, stream, whether the backend surely sent nothing.
void revoke_stream(EndpointParts& parts, const Napi::CallbackInfo& info) {
  HostedConnection* hosted = parts.connection_of(info);
  if (!hosted || !parts.delegations) return;
  auto* streams = parts.delegations->find(hosted->driver());
  if (!streams) return;
  if (flag_argument(info, 2)) {
    streams->decline(stream_argument(info), io::monotonic_now());
  } else {
    streams->revoke(stream_argument(info));
  }
}

// Arguments: connection, stream. Returns a number of `quic::DelegatedStreams::Doubt`.
Napi::Value stream_doubt(EndpointParts& parts, const Napi::CallbackInfo& info) {
  HostedConnection* hosted = parts.connection_of(info);
  auto* streams = hosted && parts.delegations ? parts.delegations->find(hosted->driver()) : nullptr;
  if (!streams) return number_value(info, 0);
  const auto doubt = streams->doubt(stream_argument(info), io::monotonic_now());
  return number_value(info, static_cast<double>(doubt));
}

// Arguments: connection, stream, offset in the stream, chunk, end of the response.
Napi::Value write_instead(EndpointParts& parts, const Napi::CallbackInfo& info) {
  HostedConnection* hosted = parts.connection_of(info);
  if (!hosted || !hosted->http3()) {
    return number_value(info, refusal_code(http3::Refusal::kConnectionClosed));
  }
  const auto bytes = as_bytes(info[3]);
  quic::SendChunk chunk = bytes && bytes->ByteLength() > 0 ? lend(*bytes) : quic::SendChunk{};
  const auto taken = hosted->http3()->write_instead(stream_argument(info), number_argument(info, 2),
                                                    std::move(chunk), flag_argument(info, 4));
  return number_value(info, taken ? (*taken ? 1 : 0) : refusal_code(taken.error()));
}

// --- a backend ----------------------------------------------------------------------------------

// Arguments: connection, stream, counter of the session, process, sockets, whether this node takes
// paths with recovery of its own.
Napi::Value open_executor(EndpointParts& parts, const Napi::CallbackInfo& info) {
  HostedConnection* hosted = parts.connection_of(info);
  const auto request = channel_request(parts, hosted, stream_argument(info));
  if (!request) return number_value(info, 0);
  switchboard::ReturnSockets sockets;
  const auto list = info[4].IsArray() ? info[4].As<Napi::Array>() : Napi::Array::New(info.Env());
  for (std::uint32_t i = 0; i < list.Length(); ++i) {
    if (auto socket = ReturnSocketObject::socket_of(list.Get(i))) sockets.add(std::move(socket));
  }
  quic::ExecutorConfig config;
  config.session = session_argument(info, 2);
  config.process = process_argument(info, 3);
  config.lent_paths = flag_argument(info, 5);
  hosted->node_session.reset();
  return keep(
      info, *hosted,
      switchboard::ExecutorHost::open(loop_of(info), *request, std::move(config),
                                      std::move(sockets), parts.random, *parts.switchboard));
}

// Arguments: number of the session, grant, encoded head of the response, length of the body, where
// it is: a descriptor, a Buffer, or nothing while it is to be appended; its position in the file;
// time in ms since the request came. Wipes the grant. Returns the number of the body, or a refusal.
Napi::Value accept_grant(EndpointParts& parts, const Napi::CallbackInfo& info) {
  auto bytes = as_bytes(info[1]);
  const auto head = as_bytes(info[2]);
  if (!bytes || !head) return number_value(info, k_malformed);
  const auto grant = quic::decode_grant({bytes->Data(), bytes->ByteLength()});
  quic::wipe(bytes->Data(), bytes->ByteLength());
  switchboard::ReturnedBodies& bodies = parts.returned_bodies;
  const std::uint32_t session = session_argument(info, 0);
  switchboard::ExecutorHost* executor = parts.switchboard->executor(session);
  if (!executor) return number_value(info, k_no_session);
  if (!grant) return number_value(info, k_malformed);
  const std::uint64_t length = number_argument(info, 3);
  const switchboard::ReturnedBodies::Place place{
      .session = session,
      .grant = grant->id,
      .start = http3::framed_size(head->ByteLength(), length),
      .length = length};
  switchboard::ReturnedBodies::Followed body;
  if (info[4].IsNumber()) {
    const auto descriptor = static_cast<int>(number_argument(info, 4));
    auto file = parts.returned_files.open(descriptor);
    if (!file) return number_value(info, k_busy);
    body = bodies.follow(
        place, std::make_unique<switchboard::FilePayload>(place.start, std::move(file),
                                                          number_argument(info, 5), place.length));
  } else {
    body = bodies.hold(place);
    if (!body.source) return number_value(info, k_busy);
    const auto content = as_bytes(info[4]);
    if (content) bodies.held(body.number)->append(lend(*content));
  }
  const auto waited = std::chrono::milliseconds(number_argument(info, 6));
  const auto status = executor->accept(*grant, std::move(body.source),
                                       {{head->Data(), head->ByteLength()}, length, waited});
  return number_value(info, status ? static_cast<double>(body.number) : outcome(status));
}

// Arguments: number of the body, bytes. Returns 1, 0 when no more should be appended until there is
// room, or -1 when the body is over.
Napi::Value append_returned(EndpointParts& parts, const Napi::CallbackInfo& info) {
  switchboard::ReturnedBodies& bodies = parts.returned_bodies;
  const auto number = static_cast<std::uint32_t>(number_argument(info, 0));
  const auto* place = bodies.find(number);
  quic::HeldPayload* held = bodies.held(number);
  const auto bytes = as_bytes(info[1]);
  if (!place || !held || !bytes) return number_value(info, -1);
  if (bytes->ByteLength() > k_copied_bytes) {
    held->append(lend(*bytes));
  } else {
    held->append(quic::Bytes(bytes->Data(), bytes->ByteLength()));
  }
  const bool room = held->room() > 0;
  if (!room) bodies.await_room(number);
  // May end the body.
  if (auto* executor = parts.switchboard->executor(place->session)) {
    executor->on_available(place->grant);
  }
  return number_value(info, room ? 1 : 0);
}

// The rest of the body will never come. Arguments: number of the body, code of HTTP/3.
void fail_returned(EndpointParts& parts, const Napi::CallbackInfo& info) {
  const auto* place = parts.returned_bodies.find(session_argument(info, 0));
  if (!place) return;
  if (auto* executor = parts.switchboard->executor(place->session)) {
    executor->fail(place->grant, number_argument(info, 1));
  }
}

// Arguments: number of the body. Returns how much of it was sent.
Napi::Value returned_bytes(EndpointParts& parts, const Napi::CallbackInfo& info) {
  const std::uint64_t sent = parts.returned_bodies.sent(session_argument(info, 0));
  return number_value(info, static_cast<double>(sent));
}

// Arguments: number of the session. Returns undefined when it has ended.
Napi::Value executor_stats(EndpointParts& parts, const Napi::CallbackInfo& info) {
  const switchboard::ExecutorHost* host = parts.switchboard->executor(session_argument(info, 0));
  if (!host) return info.Env().Undefined();
  const quic::Executor::Stats& stats = host->executor().stats();
  Napi::Object out = Napi::Object::New(info.Env());
  out.Set("grants", static_cast<double>(host->executor().grants()));
  out.Set("runs", static_cast<double>(stats.runs));
  out.Set("packets", static_cast<double>(stats.packets));
  out.Set("bytes", static_cast<double>(stats.bytes));
  out.Set("expired", static_cast<double>(stats.expired));
  Napi::Object refused = Napi::Object::New(info.Env());
  for (std::size_t i = 0; i < stats.refused.size(); ++i) {
    refused.Set(k_run_refusals[i], static_cast<double>(stats.refused[i]));
  }
  out.Set("refused", refused);
  return out;
}

// Ends a session with a node, unless the connection has another one by now. Arguments: connection,
// number of the session.
void close_node_session(EndpointParts& parts, const Napi::CallbackInfo& info) {
  HostedConnection* hosted = parts.connection_of(info);
  if (!hosted || !hosted->node_session) return;
  if (hosted->node_session->number() == session_argument(info, 1)) hosted->node_session.reset();
}

}  // namespace sheaf::binding::calls
