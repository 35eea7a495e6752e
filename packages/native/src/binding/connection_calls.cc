// Calls of `NativeEndpoint` about connections as a whole.
#include "binding/endpoint_calls.h"
#include "binding/endpoint_parts.h"
#include "binding/javascript_buffer.h"
#include "binding/secrets_argument.h"
#include "binding/status_report.h"
#include "binding/system_error.h"
#include "crypto/tls_context.h"
#include "crypto/tls_renewal.h"
#include "io/monotonic_clock.h"
#include "io/socket_address.h"

namespace sheaf::binding::calls {

Napi::Value connect(EndpointParts& parts, const Napi::CallbackInfo& info) {
  const auto options = info[0].As<Napi::Object>();
  const auto fail = [&](const std::string& reason) {
    Napi::Error::New(info.Env(), reason).ThrowAsJavaScriptException();
    return info.Env().Undefined();
  };
  if (!parts.usable()) return fail("the endpoint is not bound, or closed");
  const std::string remote = options.Get("remoteAddress").ToString();
  const auto address = io::parse_address(
      remote, static_cast<std::uint16_t>(options.Get("remotePort").ToNumber().Uint32Value()));
  if (!address) {
    not_an_address(info.Env(), remote).ThrowAsJavaScriptException();
    return info.Env().Undefined();
  }

  quic::TlsClientConfig tls{
      .alpn = parts.settings.alpn,
      .certificate_authority_pem = options.Get("certificateAuthority").ToString(),
      .certificate_hashes = {},
      .public_key_hashes = {},
      .insecure = options.Get("insecure").ToBoolean()};
  if (!parse_hashes(options.Get("certificateHashes"), tls.certificate_hashes) ||
      !parse_hashes(options.Get("publicKeyHashes"), tls.public_key_hashes)) {
    return fail("a hash is not 64 hexadecimal digits");
  }
  auto context = quic::make_tls_client_context(tls);
  if (!context) return fail(context.error());

  quic::ClientHandshakeConfig handshake;
  handshake.tls = *context;
  handshake.server_name = options.Get("serverName").ToString();
  handshake.path = {parts.loop->local_address(),
                    io::on_link_of(*address, parts.loop->local_address())};
  if (const auto session = as_bytes(options.Get("session"))) {
    handshake.session = quic::parse_session_state({session->Data(), session->ByteLength()});
  }
  const auto connected = parts.endpoint->connect(
      std::move(handshake), parts.settings.endpoint.connection, io::monotonic_now());
  if (!connected) return fail(connected.error().reason);
  if (const std::size_t packets = parts.settings.packets_per_ack; packets > 0) {
    const auto paths = (*connected)->connection().extension().paths().in_use();
    for (quic::PathEntry* entry : paths) {
      entry->path->received.set_frequency({.threshold = static_cast<std::uint32_t>(packets - 1)});
    }
  }
  HostedConnection& hosted = parts.connections.host(**connected);
  parts.path_sockets.settle(hosted, parts.loop->local_address(), true, *parts.loop);
  // With 0-RTT, requests may be sent from now on.
  hosted.drain(io::monotonic_now());
  parts.loop->wake(**connected);
  return Napi::Number::New(info.Env(), hosted.handle());
}

void close_connection(EndpointParts& parts, const Napi::CallbackInfo& info) {
  HostedConnection* hosted = parts.connection_of(info);
  if (!hosted) return;
  const std::string reason = text_argument(info, 2);
  // Backends stop before the client hears of it.
  if (parts.delegations) parts.delegations->forget(hosted->driver());
  hosted->driver().close(number_argument(info, 1), reason, io::monotonic_now());
}

void shut_down(EndpointParts& parts, const Napi::CallbackInfo&) {
  parts.endpoint->stop_accepting();
  parts.connections.for_each([&](HostedConnection& hosted) {
    hosted.announce_shutdown();
    parts.loop->wake(hosted.driver());
  });
}

void ping(EndpointParts& parts, const Napi::CallbackInfo& info) {
  if (HostedConnection* hosted = parts.connection_of(info)) {
    hosted->driver().connection().ping(io::monotonic_now());
  }
}

void permit_cancellations(EndpointParts& parts, const Napi::CallbackInfo& info) {
  HostedConnection* hosted = parts.connection_of(info);
  if (hosted && hosted->http3()) hosted->http3()->permit_cancellations();
}

Napi::Value update_keys(EndpointParts& parts, const Napi::CallbackInfo& info) {
  HostedConnection* hosted = parts.connection_of(info);
  const bool updated =
      hosted && hosted->driver().connection().initiate_key_update(io::monotonic_now());
  return Napi::Boolean::New(info.Env(), updated);
}

// Arguments: connection, report.
Napi::Value report_tunnel(EndpointParts& parts, const Napi::CallbackInfo& info) {
  HostedConnection* hosted = parts.connection_of(info);
  const auto report = as_bytes(info[1]);
  const bool sent = hosted && report &&
                    hosted->driver().connection().paths().report_tunnel(
                        quic::Bytes(report->Data(), report->ByteLength()));
  return Napi::Boolean::New(info.Env(), sent);
}

Napi::Value connection_status(EndpointParts& parts, const Napi::CallbackInfo& info) {
  const HostedConnection* hosted =
      parts.connections.find(static_cast<std::uint32_t>(number_argument(info, 0)));
  if (!hosted) return info.Env().Undefined();
  return status_object(info.Env(), hosted->driver(), io::monotonic_now());
}

Napi::Value connections(EndpointParts& parts, const Napi::CallbackInfo& info) {
  Napi::Array out = Napi::Array::New(info.Env());
  parts.connections.for_each(
      [&](const HostedConnection& hosted) { out.Set(out.Length(), hosted.handle()); });
  return out;
}

Napi::Value counters(EndpointParts& parts, const Napi::CallbackInfo& info) {
  Napi::Object counters = counters_object(info.Env(), *parts.endpoint);
  counters.Set("javascriptCalls", static_cast<double>(parts.javascript_calls));
  return counters;
}

void set_certificate(EndpointParts& parts, const Napi::CallbackInfo& info) {
  auto& server_tls = parts.settings.endpoint.server_tls;
  if (!server_tls) {
    Napi::Error::New(info.Env(), "This endpoint is no server, so it has no certificate.")
        .ThrowAsJavaScriptException();
    return;
  }
  quic::TlsServerConfig config = parts.settings.server_tls;
  config.certificate_pem = text_argument(info, 0);
  config.private_key_pem = text_argument(info, 1);
  auto tls = quic::renew_tls_server_context(config, *server_tls);
  if (!tls) {
    Napi::Error::New(info.Env(), tls.error()).ThrowAsJavaScriptException();
    return;
  }
  parts.settings.server_tls = config;
  server_tls = *tls;
  parts.endpoint->set_server_tls(server_tls);
}

void set_secrets(EndpointParts& parts, const Napi::CallbackInfo& info) {
  parts.endpoint->set_secrets(secrets_argument(info[0].As<Napi::Array>()));
  const quic::ServerSecrets tickets = secrets_argument(info[1].As<Napi::Array>());
  if (auto problem = parts.settings.endpoint.server_tls->set_secrets(tickets)) {
    Napi::Error::New(info.Env(), *problem).ThrowAsJavaScriptException();
  }
}

}  // namespace sheaf::binding::calls
