#include <napi.h>
#include <uv.h>

#include "binding/address_argument.h"
#include "binding/call_arguments.h"
#include "binding/channel_source_object.h"
#include "binding/endpoint_object.h"
#include "binding/field_list.h"
#include "binding/grant_sealer_object.h"
#include "binding/javascript_buffer.h"
#include "binding/link_relay_object.h"
#include "binding/machine_link_object.h"
#include "binding/return_socket_object.h"
#include "binding/shared_counts_object.h"
#include "binding/status_report.h"
#include "binding/system_error.h"
#include "binding/thread_parts.h"
#include "binding/worker_group_object.h"
#include "crypto/library_check.h"
#include "http3/encoded_head.h"
#include "io/bound_socket.h"
#include "io/cached_file.h"
#include "io/generation_link.h"
#include "io/service_manager.h"
#include "io/tcp_listener.h"
#include "io/tcp_socket.h"
#include "util/heap.h"

namespace {

// Arguments: descriptor, bytes.
Napi::Value limit_unsent(const Napi::CallbackInfo& info) {
  const int descriptor = info[0].As<Napi::Number>().Int32Value();
  const auto bytes = info[1].As<Napi::Number>().Uint32Value();
  return Napi::Boolean::New(info.Env(), sheaf::io::limit_unsent(descriptor, bytes));
}

// Arguments: descriptor.
Napi::Value is_gone(const Napi::CallbackInfo& info) {
  const int descriptor = info[0].As<Napi::Number>().Int32Value();
  return Napi::Boolean::New(info.Env(), sheaf::io::is_gone(descriptor));
}

Napi::Value bound_object(Napi::Env env, int descriptor, const sheaf::quic::Address& local) {
  auto out = Napi::Object::New(env);
  out.Set("descriptor", descriptor);
  out.Set("port", local.port);
  return out;
}

// Opens a socket at the address that is the first argument. `open` returns its descriptor and where
// it is bound.
template <typename Open>
Napi::Value open_bound(const Napi::CallbackInfo& info, const Open& open) {
  const auto local = sheaf::binding::address_argument(info[0]);
  if (!local) {
    sheaf::binding::address_error(info.Env(), info[0]).ThrowAsJavaScriptException();
    return info.Env().Undefined();
  }
  const auto opened = open(*local);
  if (!opened) {
    sheaf::binding::system_error(info.Env(), opened.error()).ThrowAsJavaScriptException();
    return info.Env().Undefined();
  }
  return bound_object(info.Env(), opened->descriptor, opened->local);
}

// Arguments: address, whether other sockets of this user may listen there already.
Napi::Value open_tcp_listener(const Napi::CallbackInfo& info) {
  const auto use = sheaf::binding::flag_argument(info, 1) ? sheaf::io::PortUse::kShared
                                                          : sheaf::io::PortUse::kExclusive;
  return open_bound(info,
                    [use](const auto& local) { return sheaf::io::open_tcp_listener(local, use); });
}

// Arguments: descriptor. Returns another one, or a negative number.
Napi::Value duplicate_descriptor(const Napi::CallbackInfo& info) {
  const int descriptor = info[0].As<Napi::Number>().Int32Value();
  return Napi::Number::New(info.Env(), sheaf::io::duplicate_descriptor(descriptor));
}

// Arguments: descriptor, buffer to fill, position in the file.
Napi::Value read_cached(const Napi::CallbackInfo& info) {
  std::int32_t descriptor = -1;
  napi_get_value_int32(info.Env(), info[0], &descriptor);
  auto into = sheaf::binding::as_bytes(info[1]);
  const std::size_t size =
      into ? sheaf::io::read_cached(descriptor, {into->Data(), into->ByteLength()},
                                    sheaf::binding::number_argument(info, 2))
           : 0;
  return Napi::Number::New(info.Env(), static_cast<double>(size));
}

Napi::Value error_name(Napi::Env env, int error) {
  return error == 0 ? env.Undefined() : Napi::String::New(env, uv_err_name(-error));
}

// Arguments: name of the socket, message. Returns the name of an error, or undefined.
Napi::Value notify_service_manager(const Napi::CallbackInfo& info) {
  const std::string socket = info[0].As<Napi::String>();
  const std::string message = info[1].As<Napi::String>();
  return error_name(info.Env(), sheaf::io::notify_service_manager(socket, message));
}

// Arguments: name of the socket, message, descriptor or -1, milliseconds to wait. Returns the name
// of an error, or undefined.
Napi::Value pass_to_service_manager(const Napi::CallbackInfo& info) {
  const std::string socket = info[0].As<Napi::String>();
  const std::string message = info[1].As<Napi::String>();
  const int descriptor = info[2].As<Napi::Number>().Int32Value();
  const int wait_ms = info[3].As<Napi::Number>().Int32Value();
  return error_name(info.Env(),
                    sheaf::io::pass_to_service_manager(socket, message, descriptor, wait_ms));
}

// Arguments: name of the socket, milliseconds to wait. Returns the name of an error, or undefined.
Napi::Value await_service_manager(const Napi::CallbackInfo& info) {
  const std::string socket = info[0].As<Napi::String>();
  const int wait_ms = info[1].As<Napi::Number>().Int32Value();
  return error_name(info.Env(), sheaf::io::await_service_manager(socket, wait_ms));
}

// Arguments: descriptor, whether it is to be a listener of TCP. Returns an address with `shared`,
// or undefined.
Napi::Value bound_socket(const Napi::CallbackInfo& info) {
  const auto kind = sheaf::binding::flag_argument(info, 1) ? sheaf::io::BoundKind::kTcp
                                                           : sheaf::io::BoundKind::kUdp;
  const auto bound = sheaf::io::bound_socket(info[0].As<Napi::Number>().Int32Value(), kind);
  if (!bound) return info.Env().Undefined();
  auto out = sheaf::binding::address_object(info.Env(), bound->address);
  out.Set("shared", bound->shared);
  return out;
}

// Arguments: address.
Napi::Value open_bound_udp(const Napi::CallbackInfo& info) {
  return open_bound(info, sheaf::io::open_bound_udp);
}

// Returns the descriptors of both ends.
Napi::Value create_datagram_pair(const Napi::CallbackInfo& info) {
  auto link = sheaf::io::make_generation_link();
  if (!link) {
    sheaf::binding::system_error(info.Env(), link.error()).ThrowAsJavaScriptException();
    return info.Env().Undefined();
  }
  auto ends = Napi::Array::New(info.Env(), 2);
  for (std::uint32_t end = 0; end < 2; ++end) ends.Set(end, (*link)[end].release());
  return ends;
}

// Arguments: fields.
Napi::Value encode_head(const Napi::CallbackInfo& info) {
  const auto head = sheaf::http3::encode_head(sheaf::binding::to_fields(info[0].As<Napi::Array>()));
  if (!head) return info.Env().Undefined();
  return Napi::Buffer<std::uint8_t>::Copy(info.Env(), head->data(), head->size());
}

void return_freed_memory(const Napi::CallbackInfo&) { sheaf::quic::return_freed_memory(); }

Napi::Object initialize(Napi::Env env, Napi::Object exports) {
  if (const auto problem = sheaf::quic::check_libraries()) {
    Napi::Error::New(env, *problem).ThrowAsJavaScriptException();
    return exports;
  }
  env.SetInstanceData(new sheaf::binding::ThreadParts);
  exports.Set("Endpoint", sheaf::binding::EndpointObject::define(env));
  exports.Set("LinkRelay", sheaf::binding::LinkRelayObject::define(env));
  exports.Set("ReturnSocket", sheaf::binding::ReturnSocketObject::define(env));
  exports.Set("ChannelSource", sheaf::binding::ChannelSourceObject::define(env));
  exports.Set("GrantSealer", sheaf::binding::GrantSealerObject::define(env));
  exports.Set("MachineLink", sheaf::binding::MachineLinkObject::define(env));
  exports.Set("SharedCounts", sheaf::binding::SharedCountsObject::define(env));
  exports.Set("WorkerGroup", sheaf::binding::WorkerGroupObject::define(env));
  exports.Set("sharedChannelHeldDownMs",
              Napi::Function::New<sheaf::binding::ChannelSourceObject::shared_held_down_ms>(
                  env, "sharedChannelHeldDownMs"));
  exports.Set("encodeHead", Napi::Function::New<encode_head>(env, "encodeHead"));
  exports.Set("limitUnsent", Napi::Function::New<limit_unsent>(env, "limitUnsent"));
  exports.Set("isGone", Napi::Function::New<is_gone>(env, "isGone"));
  exports.Set("openTcpListener", Napi::Function::New<open_tcp_listener>(env, "openTcpListener"));
  exports.Set("duplicateDescriptor",
              Napi::Function::New<duplicate_descriptor>(env, "duplicateDescriptor"));
  exports.Set("readCached", Napi::Function::New<read_cached>(env, "readCached"));
  exports.Set("notifyServiceManager",
              Napi::Function::New<notify_service_manager>(env, "notifyServiceManager"));
  exports.Set("passToServiceManager",
              Napi::Function::New<pass_to_service_manager>(env, "passToServiceManager"));
  exports.Set("awaitServiceManager",
              Napi::Function::New<await_service_manager>(env, "awaitServiceManager"));
  exports.Set("boundSocket", Napi::Function::New<bound_socket>(env, "boundSocket"));
  exports.Set("openBoundUdp", Napi::Function::New<open_bound_udp>(env, "openBoundUdp"));
  exports.Set("createDatagramPair",
              Napi::Function::New<create_datagram_pair>(env, "createDatagramPair"));
  exports.Set("returnFreedMemory",
              Napi::Function::New<return_freed_memory>(env, "returnFreedMemory"));
  return exports;
}

}  // namespace

NODE_API_MODULE(sheaf, initialize)
