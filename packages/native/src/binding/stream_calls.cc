// Calls of `NativeEndpoint` about the order of streams, whether of requests or of sessions.
#include <algorithm>

#include "binding/call_arguments.h"
#include "binding/endpoint_calls.h"
#include "binding/endpoint_parts.h"

namespace sheaf::binding::calls {

namespace {

quic::Dependency to_dependency(const Napi::Object& given) {
  return {.node = number(given, "node"),
          .parent = number(given, "parent"),
          .weight = static_cast<std::uint16_t>(std::clamp<std::uint64_t>(
              number(given, "weight"), 1, quic::Dependency::k_max_weight)),
          .exclusive = given.Get("exclusive").ToBoolean()};
}

}  // namespace

void set_stream_priority(EndpointParts& parts, const Napi::CallbackInfo& info) {
  HostedConnection* hosted = parts.connection_of(info);
  if (!hosted || !info[2].IsObject()) return;
  const auto priority = info[2].As<Napi::Object>();
  quic::StreamPriority wanted{
      .urgency = static_cast<std::uint8_t>(std::min<std::uint64_t>(number(priority, "urgency"), 7)),
      .incremental = priority.Get("incremental").ToBoolean()};
  quic::Connection& connection = hosted->driver().connection();
  if (const auto groups = priority.Get("groups"); groups.IsArray()) {
    const auto list = groups.As<Napi::Array>();
    for (std::uint32_t i = 0; i < list.Length(); ++i) {
      connection.streams().writer().set_group(to_dependency(list.Get(i).ToObject()));
    }
  }
  if (const auto dependency = priority.Get("dependency"); dependency.IsObject()) {
    wanted.dependency = to_dependency(dependency.As<Napi::Object>());
  }
  connection.streams().writer().set_priority(stream_argument(info), wanted);
}

void set_expected_bytes(EndpointParts& parts, const Napi::CallbackInfo& info) {
  HostedConnection* hosted = parts.connection_of(info);
  if (!hosted) return;
  hosted->driver().connection().streams().writer().set_expected_bytes(stream_argument(info),
                                                                      number_argument(info, 2));
}

}  // namespace sheaf::binding::calls
