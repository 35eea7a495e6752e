#include "binding/machine_link_object.h"

#include <array>
#include <utility>

#include "binding/address_argument.h"
#include "binding/call_arguments.h"
#include "binding/secrets_argument.h"
#include "binding/status_report.h"
#include "binding/system_error.h"
#include "binding/worker_groups.h"

namespace sheaf::binding {

Napi::Function MachineLinkObject::define(Napi::Env env) {
  return DefineClass(env, "MachineLink",
                     {InstanceMethod<&MachineLinkObject::address>("address"),
                      InstanceMethod<&MachineLinkObject::set_machines>("setMachines"),
                      InstanceMethod<&MachineLinkObject::set_secrets>("setSecrets"),
                      InstanceMethod<&MachineLinkObject::counts>("counts"),
                      InstanceMethod<&MachineLinkObject::lost_machines>("lostMachines"),
                      InstanceMethod<&MachineLinkObject::close>("close")});
}

// Arguments: number of the group, address to listen on, server id, secrets, whether machines share
// first packets.
MachineLinkObject::MachineLinkObject(const Napi::CallbackInfo& info)
    : Napi::ObjectWrap<MachineLinkObject>(info) {
  const auto sockets = WorkerGroups::find(static_cast<std::uint32_t>(number_argument(info, 0)));
  const auto listen = address_argument(info[1]);
  const auto server = server_id(info[2].As<Napi::Object>(), {});
  const auto secrets = secrets_argument(info[3].As<Napi::Array>());
  if (!listen) {
    address_error(info.Env(), info[1]).ThrowAsJavaScriptException();
    return;
  }
  if (!sockets || !server || secrets.empty()) {
    Napi::Error::New(info.Env(), "a link needs a group of workers, a server id and secrets")
        .ThrowAsJavaScriptException();
    return;
  }
  auto opened = io::MachineLink::open(sockets->group(), {.listen = *listen,
                                                         .server = *server,
                                                         .secrets = secrets,
                                                         .shares_first = flag_argument(info, 4),
                                                         .client_addresses = sockets->addresses()});
  if (!opened) {
    system_error(info.Env(), opened.error()).ThrowAsJavaScriptException();
    return;
  }
  link_ = std::move(*opened);
  Ref();
}

Napi::Value MachineLinkObject::address(const Napi::CallbackInfo& info) {
  if (!link_) return info.Env().Undefined();
  return address_object(info.Env(), link_->local_address());
}

// Arguments: the server ids, addresses and ports of all other machines.
void MachineLinkObject::set_machines(const Napi::CallbackInfo& info) {
  if (!link_) return;
  const auto list = info[0].As<Napi::Array>();
  std::vector<machines::Machine> machines;
  for (std::uint32_t i = 0; i < list.Length(); ++i) {
    const auto each = list.Get(i).As<Napi::Object>();
    const auto id = each.Get("serverId").As<Napi::Uint8Array>();
    const auto address = address_argument(each);
    if (!address) return address_error(info.Env(), each).ThrowAsJavaScriptException();
    machines.push_back({.server_id = {id.Data(), id.Data() + id.ByteLength()},
                        .address = *address,
                        .opens = each.Get("opens").ToBoolean(),
                        .missing = each.Get("missing").ToBoolean(),
                        .reset_scope = text(each, "resetScope")});
  }
  link_->set_machines(machines);
}

// Arguments: secrets.
void MachineLinkObject::set_secrets(const Napi::CallbackInfo& info) {
  const auto secrets = secrets_argument(info[0].As<Napi::Array>());
  if (link_ && !secrets.empty()) link_->set_secrets(secrets);
}

Napi::Value MachineLinkObject::counts(const Napi::CallbackInfo& info) {
  const io::MachineLink::Counts counts = link_ ? link_->counts() : io::MachineLink::Counts{};
  const std::array<std::uint64_t, 4> all{counts.sent, counts.dropped, counts.received,
                                         counts.refused};
  auto list = Napi::Array::New(info.Env(), all.size());
  for (std::uint32_t at = 0; at < all.size(); ++at) list.Set(at, static_cast<double>(all[at]));
  return list;
}

Napi::Value MachineLinkObject::lost_machines(const Napi::CallbackInfo& info) {
  const std::size_t lost = link_ ? link_->lost_machines() : 0;
  return Napi::Number::New(info.Env(), static_cast<double>(lost));
}

void MachineLinkObject::close(const Napi::CallbackInfo&) {
  if (!link_) return;
  link_.reset();
  Unref();
}

}  // namespace sheaf::binding
