// Calls of `NativeEndpoint` about requests for UDP proxying, and their end.
#include "binding/address_argument.h"
#include "binding/call_arguments.h"
#include "binding/call_results.h"
#include "binding/endpoint_calls.h"
#include "binding/endpoint_parts.h"
#include "binding/event_list.h"
#include "binding/event_report.h"
#include "binding/javascript_buffer.h"
#include "binding/status_report.h"
#include "binding/system_error.h"
#include "io/monotonic_clock.h"
#include "tunnel_node/local_port.h"
#include "tunnel_node/relay_port.h"

namespace sheaf::binding {

namespace {

using tunnel_node::LocalPort;
using tunnel_node::ProgramPort;
using tunnel_node::RelayPort;
using tunnel_node::StreamEnd;
using tunnel_node::TunnelEnd;

Napi::Array counts_array(Napi::Env env, const tunnel::Counts& counts) {
  Napi::Array out = Napi::Array::New(env, 6 + tunnel::k_drop_reasons);
  std::uint32_t index = 0;
  const auto append = [&](std::uint64_t value) { out.Set(index++, number(value)); };
  append(counts.to_target.packets);
  append(counts.to_target.bytes);
  append(counts.to_client.packets);
  append(counts.to_client.bytes);
  append(counts.repeated);
  append(counts.marked);
  for (const std::uint64_t drops : counts.drops) append(drops);
  return out;
}

// Sets of ids follow each other in one array.
tunnel_request::PayloadContexts payload_contexts(const Napi::Object& options) {
  const Napi::Array ids = options.Get("contexts").As<Napi::Array>();
  std::vector<std::uint64_t> of_peer(ids.Length());
  for (std::uint32_t i = 0; i < ids.Length(); ++i) {
    of_peer[i] = static_cast<std::uint64_t>(ids.Get(i).As<Napi::Number>().Int64Value());
  }
  const auto side =
      static_cast<tunnel_request::PayloadContexts::Side>(number(options, "contextSide"));
  return {side, std::move(of_peer)};
}

void read_common(tunnel_node::TunnelSettings& settings, const Napi::Object& options) {
  settings.idle = std::chrono::milliseconds(number(options, "idleMs"));
  settings.queue_limit = number(options, "queueBytes");
  settings.mode = static_cast<quic::TunnelMode>(number(options, "mode"));
  settings.reports = static_cast<quic::TunnelReports>(number(options, "reports"));
  settings.contexts = payload_contexts(options);
}

std::optional<tunnel_node::TunnelSettings> tunnel_settings(const Napi::Object& options) {
  const auto target = address_argument(options);
  if (!target) return std::nullopt;
  tunnel_node::TunnelSettings settings;
  settings.target = *target;
  read_common(settings, options);
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

Napi::Value refuse(Napi::Env env, const io::SocketError& error) {
  system_error(env, error).ThrowAsJavaScriptException();
  return env.Undefined();
}

TunnelEnd::Place end_place(EndpointParts& parts, HostedConnection& hosted, quic::StreamId stream) {
  return {*parts.tunnels,  hosted.tunnels, *parts.loop,         hosted.driver(),
          *hosted.http3(), stream,         hosted.tunnels.way()};
}

// Makes a tunnel of a request. Returns null when it throws.
TunnelEnd* open_end(Napi::Env env, EndpointParts& parts, HostedConnection& hosted,
                    quic::StreamId stream, const tunnel_node::TunnelSettings& settings) {
  auto opened = TunnelEnd::open(end_place(parts, hosted, stream), settings, io::monotonic_now());
  if (opened) return &hosted.tunnels.keep(std::move(*opened));
  refuse(env, opened.error());
  return nullptr;
}

template <typename Port>
quic::Result<std::unique_ptr<ProgramPort>, io::SocketError> as_port(
    quic::Result<std::unique_ptr<Port>, io::SocketError> opened) {
  if (!opened) return opened.error();
  return std::unique_ptr<ProgramPort>(std::move(*opened));
}

// Returns the tunnel that the first argument names, or null when it is over.
StreamEnd* stream_tunnel(EndpointParts& parts, const Napi::CallbackInfo& info) {
  ++parts.javascript_calls;
  return parts.stream_tunnels.find(static_cast<std::uint32_t>(number_argument(info, 0)));
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
  if (auto status = open_node(env, parts); !status) return refuse(env, status.error());
  TunnelEnd* end = open_end(env, parts, *hosted, stream, *settings);
  return end ? address_object(env, end->local_address()) : env.Undefined();
}

// Arguments: connection, address; for a relay, also the address of its program; for another port, a
// descriptor of a socket that is bound there, or nothing. Returns the number of the port and its
// address, or nothing when the connection is gone.
Napi::Value open_tunnel_port(EndpointParts& parts, const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  HostedConnection* hosted = parts.connection_of(info);
  if (!hosted) return env.Undefined();
  const bool relays = !info[2].IsUndefined();
  const auto address = address_argument(info[1]);
  const auto program = relays ? address_argument(info[2]) : address;
  const auto bound =
      info[3].IsUndefined() ? std::nullopt : std::optional(info[3].As<Napi::Number>().Int32Value());
  if (!address || !program) {
    address_error(env, info[address ? 2 : 1]).ThrowAsJavaScriptException();
    return env.Undefined();
  }
  if (auto status = open_node(env, parts); !status) return refuse(env, status.error());
  const ProgramPort::Place place{*parts.tunnels, hosted->tunnels, *parts.loop, hosted->driver()};
  auto port = relays ? as_port(RelayPort::open(place, *address, *program))
                     : as_port(LocalPort::open(place, *address, bound));
  if (!port) return refuse(env, port.error());
  Napi::Array out = Napi::Array::New(env, 2);
  out.Set(1u, address_object(env, (*port)->address()));
  out.Set(0u, static_cast<double>(hosted->tunnels.keep(std::move(*port))));
  return out;
}

// Arguments: connection, stream, number of the port, peer, options. The request was answered.
// Returns false when the connection or the peer is gone.
Napi::Value forward_tunnel_peer(EndpointParts& parts, const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const auto gone = Napi::Boolean::New(env, false);
  HostedConnection* hosted = parts.connection_of(info);
  ProgramPort* port = hosted ? hosted->tunnels.port(number_argument(info, 2)) : nullptr;
  const quic::StreamId stream = stream_argument(info);
  if (!port || !hosted->http3() || hosted->tunnels.find(stream)) return gone;
  const auto flow = static_cast<ProgramPort::FlowId>(number_argument(info, 3));
  tunnel_node::TunnelSettings settings;
  read_common(settings, info[4].As<Napi::Object>());
  const quic::Time now = io::monotonic_now();
  auto opened = port->open(flow, end_place(parts, *hosted, stream), settings, now);
  if (!opened) return refuse(env, opened.error());
  if (!*opened) return gone;
  port->give(flow, hosted->tunnels.keep(std::move(*opened)), now);
  return Napi::Boolean::New(env, true);
}

// Arguments: connection, number of the port, peer
Napi::Value refuse_tunnel_peer(EndpointParts& parts, const Napi::CallbackInfo& info) {
  HostedConnection* hosted = parts.connection_of(info);
  ProgramPort* port = hosted ? hosted->tunnels.port(number_argument(info, 1)) : nullptr;
  if (port) port->refuse(static_cast<ProgramPort::FlowId>(number_argument(info, 2)));
  return info.Env().Undefined();
}

// Arguments: connection, number of the port, whether its tunnels end
void close_tunnel_port(EndpointParts& parts, const Napi::CallbackInfo& info) {
  HostedConnection* hosted = parts.connection_of(info);
  ProgramPort* port = hosted ? hosted->tunnels.port(number_argument(info, 1)) : nullptr;
  if (!port) return;
  if (!flag_argument(info, 2)) port->leave_tunnels();
  hosted->tunnels.close_port(number_argument(info, 1));
}

// Arguments: number of a connection that JavaScript carries, options. Returns the local address of
// the socket, with the number of the tunnel; nothing when the endpoint is closed.
Napi::Value open_stream_tunnel(EndpointParts& parts, const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  ++parts.javascript_calls;
  const auto settings = tunnel_settings(info[1].As<Napi::Object>());
  if (!parts.usable() || !settings) return env.Undefined();
  if (auto status = open_node(env, parts); !status) return refuse(env, status.error());
  const auto opened = parts.stream_tunnels.open(
      *parts.tunnels, static_cast<std::uint32_t>(number_argument(info, 0)), *settings,
      io::monotonic_now());
  if (!opened) return refuse(env, opened.error());
  Napi::Object out = address_object(env, (*opened)->local_address());
  out.Set("number", (*opened)->number());
  return out;
}

// Arguments: number of the tunnel, bytes.
void write_stream_tunnel(EndpointParts& parts, const Napi::CallbackInfo& info) {
  StreamEnd* end = stream_tunnel(parts, info);
  const auto bytes = as_bytes(info[1]);
  if (!end || !bytes) return;
  end->receive(quic::Bytes(bytes->Data(), bytes->ByteLength()), io::monotonic_now());
}

void finish_stream_tunnel(EndpointParts& parts, const Napi::CallbackInfo& info) {
  if (StreamEnd* end = stream_tunnel(parts, info)) end->on_finished();
}

void go_on_stream_tunnel(EndpointParts& parts, const Napi::CallbackInfo& info) {
  if (StreamEnd* end = stream_tunnel(parts, info)) end->on_writable();
}

void leave_stream_tunnel(EndpointParts& parts, const Napi::CallbackInfo& info) {
  if (StreamEnd* end = stream_tunnel(parts, info)) end->abandon();
}

// Returns the number of open tunnels, the bytes that wait in them, and the counts of all so far.
Napi::Value tunnel_counts(EndpointParts& parts, const Napi::CallbackInfo& info) {
  if (!parts.tunnels) return info.Env().Undefined();
  Napi::Array out = Napi::Array::New(info.Env(), 4);
  out.Set(0u, static_cast<double>(parts.tunnels->open_tunnels()));
  // What was sent, and is kept to be sent again, does not wait.
  std::size_t waiting = parts.tunnels->room().used();
  parts.connections.for_each([&](HostedConnection& hosted) {
    const auto& kept = hosted.tunnels.way().kept;
    if (kept) waiting -= kept->held();
  });
  out.Set(1u, static_cast<double>(waiting));
  out.Set(2u, counts_array(info.Env(), parts.tunnels->counts()));
  if (const auto response = parts.tunnels->first_responses().smoothed()) {
    out.Set(3u, std::chrono::duration<double, std::milli>(*response).count());
  }
  return out;
}

}  // namespace calls

void report_tunnels(HostedConnection& hosted, EventList& events) {
  hosted.tunnels.take_over([&](TunnelEnd& end) {
    push(events, EventKind::kTunnelOver, hosted, number(end.request().stream().value),
         static_cast<double>(end.reason()), number(*end.request().over()),
         counts_array(events.open(), end.request().counts()));
  });
  hosted.tunnels.take_reports([&](TunnelEnd& end) {
    const quic::Bytes report = end.take_report();
    push(events, EventKind::kTunnelReport, hosted, number(end.request().stream().value),
         Napi::Buffer<std::uint8_t>::Copy(events.open(), report.data(), report.size()));
  });
  hosted.tunnels.take_new_flows([&](std::size_t port, const ProgramPort::NewFlow& flow) {
    push(events, EventKind::kTunnelPeer, hosted, static_cast<double>(port),
         static_cast<double>(flow.id), flow.host, static_cast<double>(flow.port));
  });
}

void report_stream_tunnels(tunnel_node::StreamEnds& tunnels, EventList& events) {
  const auto append = [&](EventKind kind, std::uint32_t tunnel, auto... values) {
    Napi::Array event = Napi::Array::New(events.open(), 3 + sizeof...(values));
    event.Set(0u, static_cast<std::uint32_t>(kind));
    event.Set(1u, 0);
    event.Set(2u, tunnel);
    std::uint32_t index = 3;
    (event.Set(index++, values), ...);
    events.append(event);
  };
  const quic::Time now = io::monotonic_now();
  tunnels.take_pending([&](StreamEnd& end) {
    if (end.over()) {
      const Napi::Env env = events.open();
      append(EventKind::kStreamTunnelOver, end.number(), static_cast<double>(end.reason()),
             number(*end.over()), counts_array(env, end.counts()));
    } else if (const auto bytes = end.take(now); !bytes.empty()) {
      const Napi::Env env = events.open();
      append(EventKind::kStreamTunnelBytes, end.number(),
             Napi::Buffer<std::uint8_t>::Copy(env, bytes.data(), bytes.size()));
    }
  });
}

}  // namespace sheaf::binding
