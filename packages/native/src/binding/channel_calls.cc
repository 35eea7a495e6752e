// Calls of `NativeEndpoint` about requests that join channels.
#include "binding/call_arguments.h"
#include "binding/call_results.h"
#include "binding/channel_settings.h"
#include "binding/channel_source_object.h"
#include "binding/endpoint_calls.h"
#include "binding/endpoint_parts.h"
#include "binding/javascript_buffer.h"
#include "binding/system_error.h"
#include "channel_node/receiver_node.h"
#include "io/monotonic_clock.h"
#include "io/socket_address.h"

namespace sheaf::binding::calls {

namespace {

using channel_node::ReceiverEnd;
using channel_request::ChannelRequest;

// Where an end of a channel finds its request
struct Location {
  HostedConnection& hosted;
  channel_node::ChannelEnd::Carrier carrier;
  ChannelRequest::Place place;
};

// Returns nothing when the connection is gone, speaks no HTTP/3, or has as many channels as it may.
std::optional<Location> locate(EndpointParts& parts, const Napi::CallbackInfo& info) {
  HostedConnection* hosted = parts.connection_of(info);
  if (!hosted || !hosted->http3()) return std::nullopt;
  const auto slot = hosted->channels.free_slot();
  if (!slot) return std::nullopt;
  return Location{
      *hosted, {*parts.loop, hosted->driver()}, {*hosted->http3(), stream_argument(info), *slot}};
}

ReceiverEnd* receiver_of(EndpointParts& parts, const Napi::CallbackInfo& info) {
  HostedConnection* hosted = parts.connection_of(info);
  channel_node::ChannelEnd* end = hosted ? hosted->channels.find(stream_argument(info)) : nullptr;
  return end ? end->receiver() : nullptr;
}

}  // namespace

// Arguments: connection, stream, ChannelSource, address of the client. The response was sent
// without its end.
Napi::Value serve_channel(EndpointParts& parts, const Napi::CallbackInfo& info) {
  const auto node = ChannelSourceObject::node_of(info[2]);
  const auto location = locate(parts, info);
  const auto client = io::parse_address(text_argument(info, 3), 0);
  if (!node || !location || !client || location->hosted.channels.serves(*node)) {
    return Napi::Boolean::New(info.Env(), false);
  }
  location->hosted.channels.keep(location->place.slot, std::make_unique<channel_node::SourceEnd>(
                                                           location->carrier, location->place, node,
                                                           *client, io::monotonic_now()));
  return Napi::Boolean::New(info.Env(), true);
}

// Arguments: connection, stream, options. The response has come.
Napi::Value watch_channel(EndpointParts& parts, const Napi::CallbackInfo& info) {
  const auto settings = receiver_settings(info[2].As<Napi::Object>());
  if (!settings) {
    Napi::Error::New(info.Env(), settings.error()).ThrowAsJavaScriptException();
    return info.Env().Undefined();
  }
  const auto location = locate(parts, info);
  if (!location) return Napi::Boolean::New(info.Env(), false);
  uv_loop_t* loop = nullptr;
  napi_get_uv_event_loop(info.Env(), &loop);
  auto opened =
      ReceiverEnd::open(loop, location->carrier, location->place, *settings, parts.random);
  if (!opened) {
    system_error(info.Env(), opened.error()).ThrowAsJavaScriptException();
    return info.Env().Undefined();
  }
  location->hosted.channels.keep(location->place.slot, std::move(*opened));
  return Napi::Boolean::New(info.Env(), true);
}

// Arguments: connection, stream, group, memory to fill. Returns how many bytes were copied.
Napi::Value read_channel_group(EndpointParts& parts, const Napi::CallbackInfo& info) {
  ReceiverEnd* receiver = receiver_of(parts, info);
  auto into = as_bytes(info[3]);
  if (!receiver || !into) return number_value(info, 0);
  const std::size_t size =
      receiver->read({number_argument(info, 2)}, {into->Data(), into->ByteLength()});
  return number_value(info, static_cast<double>(size));
}

Napi::Value channel_status(EndpointParts& parts, const Napi::CallbackInfo& info) {
  ReceiverEnd* receiver = receiver_of(parts, info);
  quic::ChannelReceiver* channel = receiver ? receiver->request().receiver() : nullptr;
  if (!channel) return info.Env().Undefined();
  const quic::ReceiverCounts& counts = channel->counts();
  Napi::Object out = Napi::Object::New(info.Env());
  const auto set = [&](const char* name, std::uint64_t value) {
    out.Set(name, static_cast<double>(value));
  };
  set("fromGroup", counts.from_group);
  set("fromUnicast", counts.from_unicast);
  set("recovered", counts.recovered);
  set("duplicates", counts.duplicates);
  set("late", counts.late);
  set("lost", counts.lost);
  set("expired", counts.expired);
  set("unreadable", counts.unreadable);
  set("forged", counts.forged);
  set("refused", counts.refused);
  set("pauses", counts.pauses);
  set("malformed", counts.malformed);
  set("overLimits", counts.over_limits);
  set("repairs", channel->repair_counts().packets);
  return out;
}

void leave_channel(EndpointParts& parts, const Napi::CallbackInfo& info) {
  if (ReceiverEnd* receiver = receiver_of(parts, info)) receiver->leave(io::monotonic_now());
}

void forget_channel(EndpointParts& parts, const Napi::CallbackInfo& info) {
  HostedConnection* hosted = parts.connection_of(info);
  if (hosted) hosted->channels.remove(stream_argument(info));
}

}  // namespace sheaf::binding::calls
