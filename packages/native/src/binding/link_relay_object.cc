#include "binding/link_relay_object.h"

#include <optional>
#include <string>
#include <utility>

#include "binding/call_arguments.h"
#include "binding/link_settings.h"
#include "binding/status_report.h"
#include "binding/system_error.h"
#include "io/socket_address.h"

namespace sheaf::binding {

namespace {

std::optional<quic::Address> address_of(const Napi::Object& options) {
  return io::parse_address(
      options.Get("address").ToString().Utf8Value(),
      static_cast<std::uint16_t>(options.Get("port").ToNumber().Uint32Value()));
}

// Throws and returns nothing when the options are wrong.
std::optional<quic::LinkConfig> config_or_throw(const Napi::Value& options) {
  auto config = link_config(options.As<Napi::Object>());
  if (config) return std::move(*config);
  Napi::Error::New(options.Env(), config.error()).ThrowAsJavaScriptException();
  return std::nullopt;
}

}  // namespace

Napi::Function LinkRelayObject::define(Napi::Env env) {
  return DefineClass(env, "LinkRelay",
                     {InstanceMethod<&LinkRelayObject::bind>("bind"),
                      InstanceMethod<&LinkRelayObject::set_config>("setConfig"),
                      InstanceMethod<&LinkRelayObject::set_down>("setDown"),
                      InstanceMethod<&LinkRelayObject::stats>("stats"),
                      InstanceMethod<&LinkRelayObject::close>("close")});
}

// Arguments: listen address, target address, configuration of the way there and of the way back,
// seed.
LinkRelayObject::LinkRelayObject(const Napi::CallbackInfo& info)
    : Napi::ObjectWrap<LinkRelayObject>(info) {
  const auto listen = address_of(info[0].As<Napi::Object>());
  const auto target = address_of(info[1].As<Napi::Object>());
  if (!listen || !target) {
    Napi::Error::New(info.Env(), "not an IP address").ThrowAsJavaScriptException();
    return;
  }
  const auto there = config_or_throw(info[2]);
  if (!there) return;
  const auto back = config_or_throw(info[3]);
  if (!back) return;
  uv_loop_t* loop = nullptr;
  napi_get_uv_event_loop(info.Env(), &loop);
  relay_ =
      std::make_unique<io::LinkRelay>(loop, io::LinkRelayConfig{.listen = *listen,
                                                                .target = *target,
                                                                .there = *there,
                                                                .back = *back,
                                                                .seed = number_argument(info, 4)});
  napi_add_async_cleanup_hook(info.Env(), on_environment_end, this, &cleanup_hook_);
}

LinkRelayObject::~LinkRelayObject() {
  relay_.reset();
  if (cleanup_hook_) napi_remove_async_cleanup_hook(cleanup_hook_);
}

void LinkRelayObject::on_environment_end(napi_async_cleanup_hook_handle, void* object) {
  auto& self = *static_cast<LinkRelayObject*>(object);
  if (!self.relay_->closing()) self.stop();  // otherwise its end removes the hook
}

void LinkRelayObject::stop() {
  relay_->close([this] {
    // Lets the environment end, which frees this object.
    napi_remove_async_cleanup_hook(std::exchange(cleanup_hook_, nullptr));
    if (bound_) Unref();
  });
}

Napi::Value LinkRelayObject::bind(const Napi::CallbackInfo& info) {
  if (bound_ || relay_->closing()) {
    Napi::Error::New(info.Env(), "the relay is bound already, or closed")
        .ThrowAsJavaScriptException();
    return info.Env().Undefined();
  }
  const auto status = relay_->bind();
  if (!status) {
    system_error(info.Env(), status.error()).ThrowAsJavaScriptException();
    return info.Env().Undefined();
  }
  bound_ = true;
  Ref();  // the sockets keep this object alive until `close`
  return address_object(info.Env(), relay_->local_address());
}

void LinkRelayObject::set_config(const Napi::CallbackInfo& info) {
  const auto there = config_or_throw(info[0]);
  if (!there) return;
  const auto back = config_or_throw(info[1]);
  if (back) relay_->set_config(*there, *back);
}

void LinkRelayObject::set_down(const Napi::CallbackInfo& info) {
  relay_->set_down(flag_argument(info, 0));
}

Napi::Value LinkRelayObject::stats(const Napi::CallbackInfo& info) {
  const io::LinkRelayStats stats = relay_->stats();
  Napi::Object out = Napi::Object::New(info.Env());
  const auto set = [&](const char* name, std::uint64_t value) {
    out.Set(name, Napi::Number::New(info.Env(), static_cast<double>(value)));
  };
  out.Set("there", link_stats_object(info.Env(), stats.there));
  out.Set("back", link_stats_object(info.Env(), stats.back));
  set("clients", stats.clients);
  set("refused", stats.refused);
  set("overflow", stats.overflow);
  set("unsent", stats.unsent);
  return out;
}

void LinkRelayObject::close(const Napi::CallbackInfo&) {
  if (!relay_->closing()) stop();
}

}  // namespace sheaf::binding
