#include "binding/worker_group_object.h"

#include <utility>

#include "binding/address_argument.h"
#include "binding/call_arguments.h"
#include "binding/system_error.h"
#include "binding/worker_groups.h"
#include "io/socket_address.h"
#include "io/system_random.h"

namespace sheaf::binding {

Napi::Function WorkerGroupObject::define(Napi::Env env) {
  return DefineClass(env, "WorkerGroup",
                     {InstanceMethod<&WorkerGroupObject::number>("number"),
                      InstanceMethod<&WorkerGroupObject::addresses>("addresses"),
                      InstanceMethod<&WorkerGroupObject::steered>("steered"),
                      InstanceMethod<&WorkerGroupObject::counts>("counts"),
                      InstanceMethod<&WorkerGroupObject::close>("close")});
}

// Arguments: number of workers, addresses, length of connection ids, whether the kernel shall steer.
WorkerGroupObject::WorkerGroupObject(const Napi::CallbackInfo& info)
    : Napi::ObjectWrap<WorkerGroupObject>(info) {
  const auto workers = static_cast<unsigned>(number_argument(info, 0));
  const auto list = info[1].As<Napi::Array>();
  std::vector<quic::Address> addresses;
  for (std::uint32_t i = 0; i < list.Length(); ++i) {
    const auto each = list.Get(i).As<Napi::Object>();
    const std::string text = each.Get("address").ToString();
    const auto address =
        io::parse_address(text, static_cast<std::uint16_t>(sheaf::binding::number(each, "port")));
    if (!address) {
      not_an_address(info.Env(), text).ThrowAsJavaScriptException();
      return;
    }
    addresses.push_back(*address);
  }
  io::SystemRandom random;
  const quic::Steering steering(workers, number_argument(info, 2),
                                quic::Steering::random_key(random));
  auto opened =
      io::WorkerSockets::open(std::move(addresses), steering, info[3].As<Napi::Boolean>());
  if (!opened) {
    system_error(info.Env(), opened.error()).ThrowAsJavaScriptException();
    return;
  }
  sockets_ = std::move(*opened);
  number_ = WorkerGroups::add(sockets_);
}

WorkerGroupObject::~WorkerGroupObject() { WorkerGroups::remove(number_); }

Napi::Value WorkerGroupObject::number(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), number_);
}

Napi::Value WorkerGroupObject::addresses(const Napi::CallbackInfo& info) {
  auto list = Napi::Array::New(info.Env());
  for (const quic::Address& address : sockets_->addresses())
    list.Set(list.Length(), address_object(info.Env(), address));
  return list;
}

Napi::Value WorkerGroupObject::steered(const Napi::CallbackInfo& info) {
  return Napi::Boolean::New(info.Env(), sockets_->group()->steered());
}

// Returns for each worker: datagrams passed on, taken from others, lost on the way to others.
Napi::Value WorkerGroupObject::counts(const Napi::CallbackInfo& info) {
  const workers::WorkerGroup& group = *sockets_->group();
  auto list = Napi::Array::New(info.Env());
  for (unsigned worker = 0; worker < group.steering().workers(); ++worker) {
    const auto counts = group.counts(worker);
    auto each = Napi::Array::New(info.Env(), 3);
    std::uint32_t at = 0;
    for (const std::uint64_t count : {counts.passed_on, counts.taken, counts.lost})
      each.Set(at++, static_cast<double>(count));
    list.Set(worker, each);
  }
  return list;
}

void WorkerGroupObject::close(const Napi::CallbackInfo&) {
  WorkerGroups::remove(std::exchange(number_, 0));
  // Sockets that a worker has taken stay open until it closes them.
  sockets_->close();
}

}  // namespace sheaf::binding
