#include "binding/grant_sealer_object.h"

#include "binding/javascript_buffer.h"

namespace sheaf::binding {

Napi::Function GrantSealerObject::define(Napi::Env env) {
  return DefineClass(env, "GrantSealer",
                     {InstanceMethod<&GrantSealerObject::seal>("seal"),
                      InstanceMethod<&GrantSealerObject::close>("close")});
}

// Arguments: key, what is authenticated besides.
GrantSealerObject::GrantSealerObject(const Napi::CallbackInfo& info)
    : Napi::ObjectWrap<GrantSealerObject>(info) {
  const auto key = as_bytes(info[0]);
  const auto associated = as_bytes(info[1]);
  if (!key || !associated || key->ByteLength() != quic::GrantSealer::k_key_length ||
      associated->ByteLength() > UINT16_MAX) {
    Napi::RangeError::New(info.Env(), "a key of 32 bytes seals grants")
        .ThrowAsJavaScriptException();
    return;
  }
  sealer_.emplace(std::span<const std::uint8_t, quic::GrantSealer::k_key_length>(
                      key->Data(), quic::GrantSealer::k_key_length),
                  quic::Bytes(associated->Data(), associated->ByteLength()));
}

// Arguments: grant, which is wiped. Returns undefined after `close`.
Napi::Value GrantSealerObject::seal(const Napi::CallbackInfo& info) {
  auto grant = as_bytes(info[0]);
  if (!sealer_ || !grant) return info.Env().Undefined();
  const auto sealed = sealer_->seal({grant->Data(), grant->ByteLength()});
  return Napi::Buffer<std::uint8_t>::Copy(info.Env(), sealed.data(), sealed.size());
}

void GrantSealerObject::close(const Napi::CallbackInfo&) { sealer_.reset(); }

}  // namespace sheaf::binding
