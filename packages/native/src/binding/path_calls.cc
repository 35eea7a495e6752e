// Calls of `NativeEndpoint` about the paths of a connection (RFC 10069).
#include "binding/address_argument.h"
#include "binding/call_arguments.h"
#include "binding/endpoint_object.h"
#include "binding/system_error.h"
#include "io/monotonic_clock.h"
#include "io/socket_address.h"

namespace sheaf::binding {

namespace {

// Refusals are the negative numbers of `PathRefusal` in lib/addon.ts.
double code_of(quic::PathRefusal refusal) { return -1.0 - static_cast<double>(refusal); }
double outcome(const quic::Status<quic::PathRefusal>& status) {
  return status ? 0 : code_of(status.error());
}

quic::PathId path_argument(const Napi::CallbackInfo& info) {
  return {static_cast<std::uint32_t>(number_argument(info, 1))};
}

}  // namespace

Napi::Value EndpointObject::open_path(const Napi::CallbackInfo& info) {
  const auto fail = [&](Napi::Error error) {
    error.ThrowAsJavaScriptException();
    return info.Env().Undefined();
  };
  HostedConnection* hosted = connection_of(info);
  if (!hosted) return Napi::Number::New(info.Env(), code_of(quic::PathRefusal::kUnknownPath));
  const auto local = address_argument(info[1]);
  const auto remote = address_argument(info[2]);
  if (!local || !remote) return fail(address_error(info.Env(), info[local ? 2 : 1]));
  if (local->family != remote->family) {
    return fail(Napi::Error::New(info.Env(), "a path is between addresses of one family"));
  }
  const bool lasting = *local == loop_->local_address();
  const auto bound = loop_->add_local_address(*local);
  if (!bound) return fail(system_error(info.Env(), bound.error()));
  const quic::AddressPair addresses{*bound, io::on_link_of(*remote, *bound)};
  const auto path = hosted->driver().connection().open_path(addresses, io::monotonic_now());
  if (path) path_sockets_.add(*hosted, *bound);
  if (!path && !lasting && !path_sockets_.uses(*bound)) loop_->remove_local_address(*bound);
  return Napi::Number::New(info.Env(), path ? path->value : code_of(path.error()));
}

Napi::Value EndpointObject::migrate(const Napi::CallbackInfo& info) {
  const auto fail = [&](Napi::Error error) {
    error.ThrowAsJavaScriptException();
    return info.Env().Undefined();
  };
  HostedConnection* hosted = connection_of(info);
  if (!hosted) return Napi::Boolean::New(info.Env(), false);
  const auto local = address_argument(info[1]);
  if (!local) return fail(address_error(info.Env(), info[1]));
  const bool lasting = *local == loop_->local_address();
  const auto bound = loop_->add_local_address(*local);
  if (!bound) return fail(system_error(info.Env(), bound.error()));
  const bool moved = hosted->driver().connection().migrate(*bound, io::monotonic_now());
  if (moved) path_sockets_.add(*hosted, *bound);
  if (!moved && !lasting && !path_sockets_.uses(*bound)) loop_->remove_local_address(*bound);
  return Napi::Boolean::New(info.Env(), moved);
}

Napi::Value EndpointObject::abandon_path(const Napi::CallbackInfo& info) {
  HostedConnection* hosted = connection_of(info);
  double result = code_of(quic::PathRefusal::kUnknownPath);
  if (hosted) {
    result = outcome(hosted->driver().connection().abandon_path(
        path_argument(info), number_argument(info, 2), io::monotonic_now()));
  }
  return Napi::Number::New(info.Env(), result);
}

Napi::Value EndpointObject::set_path_status(const Napi::CallbackInfo& info) {
  HostedConnection* hosted = connection_of(info);
  double result = code_of(quic::PathRefusal::kUnknownPath);
  if (hosted) {
    const auto status =
        flag_argument(info, 2) ? quic::PathStatus::kBackup : quic::PathStatus::kAvailable;
    result = outcome(hosted->driver().connection().set_path_status(path_argument(info), status,
                                                                   io::monotonic_now()));
  }
  return Napi::Number::New(info.Env(), result);
}

Napi::Value EndpointObject::set_path_weight(const Napi::CallbackInfo& info) {
  HostedConnection* hosted = connection_of(info);
  double result = code_of(quic::PathRefusal::kUnknownPath);
  if (hosted) {
    result = outcome(hosted->driver().connection().set_path_weight(
        path_argument(info), static_cast<std::uint32_t>(number_argument(info, 2))));
  }
  return Napi::Number::New(info.Env(), result);
}

Napi::Value EndpointObject::pin_stream(const Napi::CallbackInfo& info) {
  HostedConnection* hosted = connection_of(info);
  double result = code_of(quic::PathRefusal::kUnknownPath);
  if (hosted) {
    result = outcome(
        hosted->driver().connection().pin_stream({number_argument(info, 2)}, path_argument(info)));
  }
  return Napi::Number::New(info.Env(), result);
}

}  // namespace sheaf::binding
