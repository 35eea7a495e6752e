// Calls of `NativeEndpoint` about several servers on one connection (docs/internals/multi-end.md).
#include "binding/address_argument.h"
#include "binding/call_results.h"
#include "binding/endpoint_calls.h"
#include "binding/endpoint_parts.h"
#include "binding/javascript_buffer.h"
#include "crypto/wipe.h"
#include "io/monotonic_clock.h"
#include "multi_end/backends.h"

namespace sheaf::binding::calls {

namespace {

quic::BackendId backend_argument(const Napi::CallbackInfo& info) {
  return {static_cast<std::uint32_t>(number_argument(info, 1))};
}

quic::Bytes bytes_argument(const Napi::Value& value) {
  const auto bytes = as_bytes(value);
  return bytes ? quic::Bytes(bytes->Data(), bytes->ByteLength()) : quic::Bytes();
}

}  // namespace

// --- primary ------------------------------------------------------------------------------------

Napi::Value hand_over_backend(EndpointParts& parts, const Napi::CallbackInfo& info) {
  HostedConnection* hosted = parts.connection_of(info);
  const auto address = address_argument(info[2]);
  if (!address) {
    address_error(info.Env(), info[2]).ThrowAsJavaScriptException();
    return info.Env().Undefined();
  }
  quic::PrimaryExchange* exchange = hosted ? hosted->driver().primary_exchange() : nullptr;
  if (!exchange) return number_value(info, refusal_code(quic::BackendRefusal::kNotNegotiated));
  auto snapshot = exchange->hand_over(backend_argument(info), *address);
  if (!snapshot) return number_value(info, refusal_code(snapshot.error()));
  auto buffer = Napi::Buffer<std::uint8_t>::Copy(info.Env(), snapshot->data(), snapshot->size());
  quic::wipe(snapshot->data(), snapshot->size());
  return buffer;
}

Napi::Value offer_backend(EndpointParts& parts, const Napi::CallbackInfo& info) {
  HostedConnection* hosted = parts.connection_of(info);
  if (!hosted) return number_value(info, refusal_code(quic::BackendRefusal::kUnknownBackend));
  const auto status = quic::offer_backend(hosted->driver().connection(), backend_argument(info));
  return number_value(info, status ? 0 : refusal_code(status.error()));
}

Napi::Value withdraw_backend(EndpointParts& parts, const Napi::CallbackInfo& info) {
  HostedConnection* hosted = parts.connection_of(info);
  if (!hosted) return number_value(info, refusal_code(quic::BackendRefusal::kUnknownBackend));
  const std::uint64_t reason =
      flag_argument(info, 2) ? quic::k_backend_gone : quic::k_backend_drains;
  const auto status = quic::withdraw_backend(hosted->driver().connection(), backend_argument(info),
                                             reason, io::monotonic_now());
  return number_value(info, status ? 0 : refusal_code(status.error()));
}

Napi::Value receive_backend_message(EndpointParts& parts, const Napi::CallbackInfo& info) {
  HostedConnection* hosted = parts.connection_of(info);
  quic::PrimaryExchange* exchange = hosted ? hosted->driver().primary_exchange() : nullptr;
  // A message that arrives for a connection that is gone is no error, since the connection existed
  // when the message was sent.
  const bool taken = !exchange || exchange->receive(backend_argument(info), bytes_argument(info[2]),
                                                    io::monotonic_now());
  return Napi::Boolean::New(info.Env(), taken);
}

// --- backend -------------------------------------------------------------------------------------

Napi::Value import_connection(EndpointParts& parts, const Napi::CallbackInfo& info) {
  if (!parts.usable()) return number_value(info, refusal_code(quic::ImportRefusal::kFull));
  const auto imported = parts.endpoint->import(bytes_argument(info[0]), io::monotonic_now());
  if (!imported) return number_value(info, refusal_code(imported.error()));
  HostedConnection& hosted = parts.connections.host(**imported);
  hosted.reported = true;  // the caller receives the connection as the result of this call
  parts.loop->wake(**imported);
  return number_value(info, hosted.handle());
}

Napi::Value receive_primary_message(EndpointParts& parts, const Napi::CallbackInfo& info) {
  HostedConnection* hosted = parts.connection_of(info);
  quic::BackendExchange* exchange = hosted ? hosted->driver().backend_exchange() : nullptr;
  const bool taken = !exchange || exchange->receive(bytes_argument(info[1]), io::monotonic_now());
  return Napi::Boolean::New(info.Env(), taken);
}

void drain_backend(EndpointParts& parts, const Napi::CallbackInfo& info) {
  HostedConnection* hosted = parts.connection_of(info);
  if (hosted && hosted->driver().backend_exchange()) hosted->drain_requests();
}

void forget_connection(EndpointParts& parts, const Napi::CallbackInfo& info) {
  HostedConnection* hosted = parts.connection_of(info);
  if (hosted && hosted->driver().backend_exchange()) hosted->driver().forget();
}

// --- client -------------------------------------------------------------------------------------

Napi::Value open_backend(EndpointParts& parts, const Napi::CallbackInfo& info) {
  const auto fail = [&](const Napi::Error& error) {
    error.ThrowAsJavaScriptException();
    return info.Env().Undefined();
  };
  HostedConnection* hosted = parts.connection_of(info);
  if (!hosted) return number_value(info, refusal_code(quic::BackendRefusal::kUnknownBackend));
  quic::Address local = parts.loop->local_address();
  const bool own = !info[2].IsObject();
  if (!own) {
    const auto given = address_argument(info[2]);
    if (!given) return fail(address_error(info.Env(), info[2]));
    const auto bound = parts.loop->add_local_address(*given);
    if (!bound) return fail(system_error(info.Env(), bound.error()));
    local = *bound;
  }
  const auto path = quic::open_backend(hosted->driver().connection(), backend_argument(info), local,
                                       io::monotonic_now());
  parts.path_sockets.settle(*hosted, local, static_cast<bool>(path), *parts.loop);
  return number_value(info, path ? path->value : refusal_code(path.error()));
}

}  // namespace sheaf::binding::calls
