#include "binding/return_socket_object.h"

#include "binding/address_argument.h"
#include "binding/javascript_buffer.h"

namespace sheaf::binding {

namespace {

// Tells objects of this class from others. A random number.
constexpr napi_type_tag k_type{0x7c1d5a02b6e94f83, 0x92e06f4d18ab375c};

}  // namespace

Napi::Function ReturnSocketObject::define(Napi::Env env) {
  return DefineClass(env, "ReturnSocket",
                     {InstanceMethod<&ReturnSocketObject::send>("send"),
                      InstanceMethod<&ReturnSocketObject::close>("close")});
}

// Arguments: address to send from, whether it belongs to another host.
ReturnSocketObject::ReturnSocketObject(const Napi::CallbackInfo& info)
    : Napi::ObjectWrap<ReturnSocketObject>(info) {
  info.This().As<Napi::Object>().TypeTag(&k_type);
  const auto from = address_argument(info[0]);
  if (!from) {
    address_error(info.Env(), info[0]).ThrowAsJavaScriptException();
    return;
  }
  auto opened = io::SendOnlySocket::open(
      *from, flag_argument(info, 1) ? io::SendWay::kTransparent : io::SendWay::kOwnAddress);
  if (!opened) {
    system_error(info.Env(), opened.error()).ThrowAsJavaScriptException();
    return;
  }
  socket_ = std::move(*opened);
}

// Arguments: bytes, address of the receiver, bytes in each datagram.
Napi::Value ReturnSocketObject::send(const Napi::CallbackInfo& info) {
  auto bytes = as_bytes(info[0]);
  const auto remote = address_argument(info[1]);
  const std::uint64_t segment_size = number_argument(info, 2);
  if (!remote) {
    address_error(info.Env(), info[1]).ThrowAsJavaScriptException();
    return info.Env().Undefined();
  }
  if (!socket_ || !bytes || segment_size == 0) return Napi::Boolean::New(info.Env(), false);
  quic::TransmitBatch batch;
  batch.buffer = quic::MutableBytes(bytes->Data(), bytes->ByteLength());
  batch.size = batch.buffer.size();
  batch.segment_size = segment_size;
  batch.path.remote = *remote;
  return Napi::Boolean::New(info.Env(), socket_->send(batch) == io::SendOutcome::kSent);
}

std::shared_ptr<io::SendOnlySocket> ReturnSocketObject::socket_of(const Napi::Value& value) {
  if (!value.IsObject() || !value.As<Napi::Object>().CheckTypeTag(&k_type)) return nullptr;
  return Unwrap(value.As<Napi::Object>())->socket_;
}

void ReturnSocketObject::close(const Napi::CallbackInfo&) { socket_.reset(); }

}  // namespace sheaf::binding
