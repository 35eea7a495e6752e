#include "binding/channel_source_object.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "binding/address_argument.h"
#include "binding/call_arguments.h"
#include "binding/channel_settings.h"
#include "binding/javascript_buffer.h"
#include "binding/shared_channels.h"
#include "binding/status_report.h"
#include "binding/system_error.h"
#include "io/monotonic_clock.h"
#include "io/socket_address.h"

namespace sheaf::binding {

namespace {

// Tells objects of this class from others. A random number.
constexpr napi_type_tag k_source_type{0x5be1094c77d2a3f6, 0xa60d3e918c25f47b};

// Returns for how many milliseconds clients of this address may not join.
double held_down(channel_node::SourceNode& node, const Napi::Value& address) {
  const auto client = io::parse_address(text_value(address), 0);
  if (!client) return 0;
  const auto held = node.hold();
  const std::chrono::duration<double, std::milli> left =
      node.held_networks().held_until(quic::network_of(*client)) - io::monotonic_now();
  return std::max(left.count(), 0.0);
}

}  // namespace

Napi::Function ChannelSourceObject::define(Napi::Env env) {
  return DefineClass(env, "ChannelSource",
                     {InstanceMethod<&ChannelSourceObject::open_group>("openGroup"),
                      InstanceMethod<&ChannelSourceObject::write>("write"),
                      InstanceMethod<&ChannelSourceObject::end_group>("endGroup"),
                      InstanceMethod<&ChannelSourceObject::reset_group>("resetGroup"),
                      InstanceMethod<&ChannelSourceObject::held_down_ms>("heldDownMs"),
                      InstanceMethod<&ChannelSourceObject::status>("status"),
                      InstanceMethod<&ChannelSourceObject::close>("close")});
}

// Arguments: options, function to call when there is room again.
ChannelSourceObject::ChannelSourceObject(const Napi::CallbackInfo& info)
    : Napi::ObjectWrap<ChannelSourceObject>(info),
      on_room_(Napi::Persistent(info[1].As<Napi::Function>())),
      async_context_(info.Env(), "SheafChannelSource") {
  info.This().As<Napi::Object>().TypeTag(&k_source_type);
  const auto options = info[0].As<Napi::Object>();
  const auto settings = source_settings(options);
  if (!settings) {
    Napi::Error::New(info.Env(), settings.error()).ThrowAsJavaScriptException();
    return;
  }
  uv_loop_t* loop = nullptr;
  napi_get_uv_event_loop(info.Env(), &loop);
  auto opened = channel_node::SourceNode::open(loop, *settings, random_, [this] { tell_room(); });
  if (!opened) {
    system_error(info.Env(), opened.error()).ThrowAsJavaScriptException();
    return;
  }
  node_ = std::move(*opened);
  shared_as_ = options.Get("sharedAs").ToString();
  if (!shared_as_.empty()) SharedChannels::add(shared_as_, node_);
  napi_add_async_cleanup_hook(info.Env(), on_environment_end, this, &cleanup_hook_);
  Ref();  // a channel goes on until `close`
}

ChannelSourceObject::~ChannelSourceObject() {
  if (cleanup_hook_) napi_remove_async_cleanup_hook(cleanup_hook_);
}

void ChannelSourceObject::on_environment_end(napi_async_cleanup_hook_handle, void* object) {
  auto& self = *static_cast<ChannelSourceObject*>(object);
  if (!self.node_->closed()) self.stop();  // otherwise its end removes the hook
}

// Requests still refer to the channel, but not to this object, once it is closed.
void ChannelSourceObject::stop() {
  SharedChannels::remove(shared_as_, *node_);
  node_->close([this] {
    on_room_.Reset();
    napi_remove_async_cleanup_hook(std::exchange(cleanup_hook_, nullptr));
    Unref();
  });
}

std::shared_ptr<channel_node::SourceNode> ChannelSourceObject::node_of(const Napi::Value& value) {
  if (value.IsString()) return SharedChannels::find(text_value(value));
  if (!value.IsObject() || !value.As<Napi::Object>().CheckTypeTag(&k_source_type)) return nullptr;
  const auto node = Unwrap(value.As<Napi::Object>())->node_;
  return node && !node->closed() ? node : nullptr;
}

void ChannelSourceObject::tell_room() {
  Napi::Env env = Env();
  const Napi::HandleScope scope(env);
  on_room_.MakeCallback(Value(), {}, async_context_);
  if (env.IsExceptionPending()) {
    const Napi::Error error = env.GetAndClearPendingException();
    napi_fatal_exception(env, error.Value());
  }
}

// Returns the group, or -1 while too many are open.
Napi::Value ChannelSourceObject::open_group(const Napi::CallbackInfo& info) {
  const auto group = node_->closed() ? std::nullopt : node_->open_group();
  return Napi::Number::New(info.Env(), group ? static_cast<double>(group->value) : -1);
}

// Arguments: group, bytes. Returns how many were taken.
Napi::Value ChannelSourceObject::write(const Napi::CallbackInfo& info) {
  const auto bytes = as_bytes(info[1]);
  if (!bytes || node_->closed()) return Napi::Number::New(info.Env(), 0);
  const auto written =
      node_->write({number_argument(info, 0)}, {bytes->Data(), bytes->ByteLength()}, false);
  return Napi::Number::New(info.Env(), static_cast<double>(written.bytes));
}

// Argument: group. Returns false while there is no room.
Napi::Value ChannelSourceObject::end_group(const Napi::CallbackInfo& info) {
  const bool ended = !node_->closed() && node_->write({number_argument(info, 0)}, {}, true).fin;
  return Napi::Boolean::New(info.Env(), ended);
}

// Arguments: group, error code. Returns false while there is no room.
Napi::Value ChannelSourceObject::reset_group(const Napi::CallbackInfo& info) {
  const bool done =
      !node_->closed() && node_->reset({number_argument(info, 0)}, number_argument(info, 1));
  return Napi::Boolean::New(info.Env(), done);
}

// Argument: address of a client. Returns for how many milliseconds it may not join, or 0.
Napi::Value ChannelSourceObject::held_down_ms(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), held_down(*node_, info[0]));
}

Napi::Value ChannelSourceObject::shared_held_down_ms(const Napi::CallbackInfo& info) {
  const auto node = node_of(info[0]);
  return Napi::Number::New(info.Env(), node ? held_down(*node, info[1]) : -1);
}

Napi::Value ChannelSourceObject::status(const Napi::CallbackInfo& info) {
  const auto held = node_->hold();
  quic::ChannelSource& source = node_->source();
  const quic::Time now = io::monotonic_now();
  const quic::ServedReceivers served = source.served();
  const quic::SourceCounts& counts = source.counts();
  const quic::ChannelOffer& offer = source.offer();
  const quic::Reception& reception = source.reception();
  Napi::Object out = Napi::Object::New(info.Env());
  const auto set = [&](const char* name, std::uint64_t value) {
    out.Set(name, static_cast<double>(value));
  };
  if (offer.has_group()) {
    out.Set("source", address_object(info.Env(), offer.source));
    out.Set("group", address_object(info.Env(), offer.group));
  }
  set("receivers", node_->receivers());
  set("receiving", served.by_group);
  set("rate", counts.rate);
  set("heldOnCopies", served.held);
  set("waitingForCopies", served.waiting);
  set("networksHeldDown", node_->held_networks().held(now));
  out.Set("feedsGroup", source.feeds_group(now));
  set("groupPauses", counts.group_pauses);
  set("packets", counts.packets);
  set("repairs", source.repair_counts().repairs);
  set("copies", counts.copies);
  set("copiesLost", counts.copies_lost);
  set("refusedReports", counts.refused_reports);
  set("droppedProofs", counts.dropped_proofs);
  set("unsent", node_->unsent());
  set("received", reception.received);
  set("lost", reception.lost);
  set("recovered", reception.recovered);
  set("expired", reception.expired);
  set("joins", reception.joins);
  out.Set("joinSeconds", std::chrono::duration<double>(reception.join_delay).count());
  return out;
}

void ChannelSourceObject::close(const Napi::CallbackInfo&) {
  if (!node_->closed()) stop();
}

}  // namespace sheaf::binding
