// Calls of `NativeEndpoint` about requests and their bodies.
#include <algorithm>
#include <array>
#include <utility>

#include "binding/call_results.h"
#include "binding/endpoint_calls.h"
#include "binding/endpoint_parts.h"
#include "binding/field_list.h"
#include "binding/javascript_buffer.h"
#include "io/monotonic_clock.h"

namespace sheaf::binding::calls {

using quic::StreamId;

namespace {

// Maximum bytes that one call returns to JavaScript. The rest waits in the transport.
constexpr std::size_t k_read_size = 64 << 10;

// Makes a Buffer without the C++ wrapper. In a thread that is being terminated these calls may fail
// at any time, for which the wrapper would end the process. Nobody waits for the result then.
struct NewBuffer {
  NewBuffer(napi_env environment, std::size_t size) : env(environment), length(size) {
    void* data = nullptr;
    if (napi_create_buffer(env, length, &data, &value) == napi_ok) {
      bytes = static_cast<std::uint8_t*>(data);
    }
  }

  napi_env env;
  std::size_t length;
  napi_value value = nullptr;
  std::uint8_t* bytes = nullptr;  // null when there is no Buffer
};

// Returns a view of the used part when little of the Buffer is unused, and a smaller Buffer
// otherwise. JavaScript therefore never keeps much more memory alive than it has bytes.
Napi::Value first_bytes(const NewBuffer& buffer, std::size_t size) {
  const napi_env env = buffer.env;
  napi_value result = nullptr;
  if (size == buffer.length) return {env, buffer.value};
  if (size < buffer.length / 2) {
    napi_create_buffer_copy(env, size, buffer.bytes, nullptr, &result);
    return {env, result};
  }
  napi_value subarray = nullptr;
  std::array<napi_value, 2> bounds{};
  napi_create_uint32(env, 0, &bounds[0]);
  napi_create_uint32(env, static_cast<std::uint32_t>(size), &bounds[1]);
  if (napi_get_named_property(env, buffer.value, "subarray", &subarray) == napi_ok) {
    napi_call_function(env, buffer.value, subarray, bounds.size(), bounds.data(), &result);
  }
  return {env, result};
}

// Runs a call that returns the number for JavaScript.
template <typename Call>
Napi::Value with_session(EndpointParts& parts, const Napi::CallbackInfo& info, const Call& call) {
  http3::RequestSession* session = parts.session_of(info);
  const double number = session ? call(*session) : refusal_code(http3::Refusal::kConnectionClosed);
  return Napi::Number::New(info.Env(), number);
}

}  // namespace

Napi::Value submit_request(EndpointParts& parts, const Napi::CallbackInfo& info) {
  HostedConnection* hosted = parts.connection_of(info);
  const auto refuse = [&](http3::Refusal why) {
    return Napi::Number::New(info.Env(), refusal_code(why));
  };
  if (!hosted) return refuse(http3::Refusal::kConnectionClosed);
  if (!hosted->session()) return refuse(http3::Refusal::kNotReady);
  const auto stream = hosted->session()->submit_request(to_fields(info[1].As<Napi::Array>()),
                                                        flag_argument(info, 2));
  if (!stream) return refuse(stream.error());
  return Napi::Number::New(info.Env(), static_cast<double>(stream->value));
}

Napi::Value submit_informational(EndpointParts& parts, const Napi::CallbackInfo& info) {
  return with_session(parts, info, [&](http3::RequestSession& session) {
    return outcome(
        session.submit_informational(stream_argument(info), to_fields(info[2].As<Napi::Array>())));
  });
}

Napi::Value submit_response(EndpointParts& parts, const Napi::CallbackInfo& info) {
  return with_session(parts, info, [&](http3::RequestSession& session) {
    return outcome(session.submit_response(
        stream_argument(info), to_fields(info[2].As<Napi::Array>()), flag_argument(info, 3)));
  });
}

Napi::Value submit_trailers(EndpointParts& parts, const Napi::CallbackInfo& info) {
  return with_session(parts, info, [&](http3::RequestSession& session) {
    return outcome(
        session.submit_trailers(stream_argument(info), to_fields(info[2].As<Napi::Array>())));
  });
}

Napi::Value write_body(EndpointParts& parts, const Napi::CallbackInfo& info) {
  return with_session(parts, info, [&](http3::RequestSession& session) {
    const auto bytes = as_bytes(info[2]);
    const bool from_pool = flag_argument(info, 4);
    quic::SendChunk chunk;
    if (bytes && bytes->ByteLength() > 0) {
      chunk = from_pool ? parts.body_buffers.lend(*bytes) : lend(*bytes);
    }
    const auto taken =
        session.write_body(stream_argument(info), std::move(chunk), flag_argument(info, 3));
    return taken ? (*taken ? 1.0 : 0.0) : refusal_code(taken.error());
  });
}

Napi::Value reserve_body(EndpointParts& parts, const Napi::CallbackInfo& info) {
  http3::RequestSession* session = parts.session_of(info);
  if (!session) return Napi::Number::New(info.Env(), 0);
  return Napi::Number::New(info.Env(),
                           static_cast<double>(session->reserve_body(stream_argument(info))));
}

Napi::Value take_buffer(EndpointParts& parts, const Napi::CallbackInfo& info) {
  return parts.body_buffers.take(info.Env(), number_argument(info, 0));
}

Napi::Value read_body(EndpointParts& parts, const Napi::CallbackInfo& info) {
  http3::RequestSession* session = parts.session_of(info);
  if (!session) return info.Env().Undefined();
  const StreamId stream = stream_argument(info);
  const std::size_t most = std::min(session->readable_body(stream), k_read_size);
  if (most == 0) return info.Env().Undefined();
  const NewBuffer buffer(info.Env(), most);
  if (!buffer.bytes) return {};
  const std::size_t size = session->read_body(stream, {buffer.bytes, most}, io::monotonic_now());
  return first_bytes(buffer, size);
}

Napi::Value read_body_into(EndpointParts& parts, const Napi::CallbackInfo& info) {
  http3::RequestSession* session = parts.session_of(info);
  auto into = as_bytes(info[2]);
  std::size_t size = 0;
  if (session && into) {
    size = session->read_body(stream_argument(info), {into->Data(), into->ByteLength()},
                              io::monotonic_now());
  }
  return Napi::Number::New(info.Env(), static_cast<double>(size));
}

void stop_reading(EndpointParts& parts, const Napi::CallbackInfo& info) {
  http3::RequestSession* session = parts.session_of(info);
  if (!session) return;
  session->stop_reading(stream_argument(info), number_argument(info, 2));
}

void reset_stream(EndpointParts& parts, const Napi::CallbackInfo& info) {
  http3::RequestSession* session = parts.session_of(info);
  if (!session) return;
  session->reset(stream_argument(info), number_argument(info, 2));
}

}  // namespace sheaf::binding::calls
