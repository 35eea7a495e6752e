// Calls of `NativeEndpoint` about the paths of a connection (RFC 10069).
#include "binding/address_argument.h"
#include "binding/call_arguments.h"
#include "binding/call_results.h"
#include "binding/endpoint_calls.h"
#include "binding/endpoint_parts.h"
#include "binding/system_error.h"
#include "io/monotonic_clock.h"
#include "io/socket_address.h"

namespace sheaf::binding::calls {

namespace {

quic::PathId path_argument(const Napi::CallbackInfo& info) {
  return {static_cast<std::uint32_t>(number_argument(info, 1))};
}

// Runs a call that either succeeds or is refused.
template <typename Call>
Napi::Value on_connection(EndpointParts& parts, const Napi::CallbackInfo& info, const Call& call) {
  HostedConnection* hosted = parts.connection_of(info);
  const quic::Status<quic::PathRefusal> status =
      hosted ? call(hosted->driver().connection())
             : quic::Status<quic::PathRefusal>(quic::PathRefusal::kUnknownPath);
  return number_value(info, outcome(status));
}

}  // namespace

Napi::Value open_path(EndpointParts& parts, const Napi::CallbackInfo& info) {
  const auto fail = [&](const Napi::Error& error) {
    error.ThrowAsJavaScriptException();
    return info.Env().Undefined();
  };
  HostedConnection* hosted = parts.connection_of(info);
  if (!hosted) return Napi::Number::New(info.Env(), refusal_code(quic::PathRefusal::kUnknownPath));
  const auto local = address_argument(info[1]);
  const auto remote = address_argument(info[2]);
  if (!local || !remote) return fail(address_error(info.Env(), info[local ? 2 : 1]));
  if (local->family != remote->family) {
    return fail(Napi::Error::New(info.Env(), "both addresses of a path must be of one family"));
  }
  const auto bound = parts.loop->add_local_address(*local);
  if (!bound) return fail(system_error(info.Env(), bound.error()));
  const quic::AddressPair addresses{*bound, io::on_link_of(*remote, *bound)};
  const auto path = hosted->driver().connection().paths().open(addresses, io::monotonic_now());
  parts.path_sockets.settle(*hosted, *bound, static_cast<bool>(path), *parts.loop);
  return Napi::Number::New(info.Env(), path ? path->value : refusal_code(path.error()));
}

Napi::Value migrate(EndpointParts& parts, const Napi::CallbackInfo& info) {
  const auto fail = [&](const Napi::Error& error) {
    error.ThrowAsJavaScriptException();
    return info.Env().Undefined();
  };
  HostedConnection* hosted = parts.connection_of(info);
  if (!hosted) return Napi::Boolean::New(info.Env(), false);
  const auto local = address_argument(info[1]);
  if (!local) return fail(address_error(info.Env(), info[1]));
  const auto bound = parts.loop->add_local_address(*local);
  if (!bound) return fail(system_error(info.Env(), bound.error()));
  const bool moved = hosted->driver().connection().paths().migrate(*bound, io::monotonic_now());
  parts.path_sockets.settle(*hosted, *bound, moved, *parts.loop);
  return Napi::Boolean::New(info.Env(), moved);
}

Napi::Value abandon_path(EndpointParts& parts, const Napi::CallbackInfo& info) {
  return on_connection(parts, info, [&](quic::Connection& connection) {
    return connection.paths().abandon(path_argument(info), number_argument(info, 2),
                                      io::monotonic_now());
  });
}

Napi::Value set_path_status(EndpointParts& parts, const Napi::CallbackInfo& info) {
  return on_connection(parts, info, [&](quic::Connection& connection) {
    const auto status =
        flag_argument(info, 2) ? quic::PathStatus::kBackup : quic::PathStatus::kAvailable;
    return connection.paths().set_status(path_argument(info), status, io::monotonic_now());
  });
}

Napi::Value set_path_weight(EndpointParts& parts, const Napi::CallbackInfo& info) {
  return on_connection(parts, info, [&](quic::Connection& connection) {
    return connection.paths().set_weight(path_argument(info),
                                         static_cast<std::uint32_t>(number_argument(info, 2)));
  });
}

Napi::Value pin_stream(EndpointParts& parts, const Napi::CallbackInfo& info) {
  return on_connection(parts, info, [&](quic::Connection& connection) {
    return connection.paths().pin({number_argument(info, 2)}, path_argument(info));
  });
}

}  // namespace sheaf::binding::calls
