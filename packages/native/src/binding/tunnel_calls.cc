// Calls of `NativeEndpoint` about requests for UDP proxying, and their end.
#include "binding/address_argument.h"
#include "binding/call_arguments.h"
#include "binding/call_results.h"
#include "binding/endpoint_calls.h"
#include "binding/endpoint_parts.h"
#include "binding/event_list.h"
#include "binding/event_report.h"
#include "binding/status_report.h"
#include "binding/system_error.h"
#include "io/monotonic_clock.h"

namespace sheaf::binding {

namespace {

using tunnel_node::TunnelEnd;

Napi::Array counts_array(Napi::Env env, const tunnel::Counts& counts) {
  Napi::Array out = Napi::Array::New(env, 4 + tunnel::k_drop_reasons);
  std::uint32_t index = 0;
  const auto append = [&](std::uint64_t value) { out.Set(index++, number(value)); };
  append(counts.to_target.packets);
  append(counts.to_target.bytes);
  append(counts.to_client.packets);
  append(counts.to_client.bytes);
  for (const std::uint64_t drops : counts.drops) append(drops);
  return out;
}

std::optional<tunnel_node::TunnelSettings> tunnel_settings(const Napi::Object& options) {
  const auto target = address_argument(options);
  if (!target) return std::nullopt;
  tunnel_node::TunnelSettings settings;
  settings.target = *target;
  settings.idle = std::chrono::milliseconds(number(options, "idleMs"));
  settings.queue_limit = number(options, "queueBytes");
  settings.rate_name = text(options, "rateName");
  settings.rate = static_cast<double>(number(options, "bytesPerSecond"));
  return settings;
}

// Opens what the tunnels of this endpoint share.
quic::Status<io::SocketError> open_node(Napi::Env env, EndpointParts& parts) {
  if (parts.tunnels) return {};
  uv_loop_t* loop = nullptr;
  napi_get_uv_event_loop(env, &loop);
  auto node = tunnel_node::TunnelNode::open(loop);
  if (!node) return node.error();
  parts.tunnels = std::move(*node);
  return {};
}

}  // namespace

namespace calls {

// Arguments: connection, stream, options. The response follows. Returns the local address of the
// socket, or nothing when the connection is gone.
Napi::Value open_tunnel(EndpointParts& parts, const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  HostedConnection* hosted = parts.connection_of(info);
  const auto settings = tunnel_settings(info[2].As<Napi::Object>());
  if (!hosted || !hosted->http3() || !settings) return env.Undefined();
  const quic::StreamId stream = stream_argument(info);
  if (hosted->tunnels.find(stream)) return env.Undefined();
  const auto refuse = [&](const io::SocketError& error) {
    system_error(env, error).ThrowAsJavaScriptException();
    return env.Undefined();
  };
  if (auto status = open_node(env, parts); !status) return refuse(status.error());
  auto opened = TunnelEnd::open({*parts.tunnels, hosted->tunnels, *parts.loop, hosted->driver(),
                                 *hosted->http3(), stream, hosted->tunnels.way()},
                                *settings, io::monotonic_now());
  if (!opened) return refuse(opened.error());
  return address_object(env, hosted->tunnels.keep(std::move(*opened)).local_address());
}

// Returns the counts of all tunnels so far, with the number of those that are open in front.
Napi::Value tunnel_counts(EndpointParts& parts, const Napi::CallbackInfo& info) {
  if (!parts.tunnels) return info.Env().Undefined();
  Napi::Array out = Napi::Array::New(info.Env(), 2);
  out.Set(0u, static_cast<double>(parts.tunnels->open_tunnels()));
  out.Set(1u, counts_array(info.Env(), parts.tunnels->counts()));
  return out;
}

}  // namespace calls

void report_tunnels(HostedConnection& hosted, EventList& events) {
  hosted.tunnels.take_over([&](TunnelEnd& end) {
    push(events, EventKind::kTunnelOver, hosted, number(end.request().stream().value),
         static_cast<double>(end.reason()), number(*end.request().over()),
         counts_array(events.open(), end.request().counts()));
  });
}

}  // namespace sheaf::binding
