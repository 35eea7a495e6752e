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
                      InstanceMethod<&WorkerGroupObject::inheritance>("inheritance"),
                      InstanceMethod<&WorkerGroupObject::pass_to>("passTo"),
                      InstanceMethod<&WorkerGroupObject::follow>("follow"),
                      InstanceMethod<&WorkerGroupObject::read>("read"),
                      InstanceMethod<&WorkerGroupObject::close>("close")});
}

namespace {

using Opened = quic::Result<std::shared_ptr<io::WorkerSockets>, io::SocketError>;

std::vector<std::vector<io::Descriptor>> inherited_sockets(const Napi::Array& by_address) {
  std::vector<std::vector<io::Descriptor>> sockets;
  for (std::uint32_t i = 0; i < by_address.Length(); ++i) {
    const auto by_worker = by_address.Get(i).As<Napi::Array>();
    std::vector<io::Descriptor>& each = sockets.emplace_back();
    for (std::uint32_t worker = 0; worker < by_worker.Length(); ++worker)
      each.emplace_back(by_worker.Get(worker).As<Napi::Number>().Int32Value());
  }
  return sockets;
}

// Throws and returns nothing when an address is none.
std::optional<Opened> open_sockets(const Napi::Array& list, const quic::Steering& steering,
                                   bool steer, bool joins) {
  std::vector<quic::Address> addresses;
  for (std::uint32_t i = 0; i < list.Length(); ++i) {
    const auto address = address_argument(list.Get(i));
    if (!address) {
      address_error(list.Env(), list.Get(i)).ThrowAsJavaScriptException();
      return std::nullopt;
    }
    addresses.push_back(*address);
  }
  return io::WorkerSockets::open(std::move(addresses), steering, steer, joins);
}

}  // namespace

// Arguments: number of workers, addresses, length of connection ids, whether the kernel shall
// steer, sockets and key of another process or undefined, whether the workers wait for `read`,
// whether sockets of this user may have the addresses already.
WorkerGroupObject::WorkerGroupObject(const Napi::CallbackInfo& info)
    : Napi::ObjectWrap<WorkerGroupObject>(info) {
  const auto workers = static_cast<unsigned>(number_argument(info, 0));
  const std::size_t id_length = number_argument(info, 2);
  const bool steer = flag_argument(info, 3);
  std::optional<Opened> opened;
  if (info[4].IsObject()) {
    const auto inherited = info[4].As<Napi::Object>();
    const auto key = inherited.Get("key").As<Napi::Object>();
    const quic::Steering steering(
        workers, id_length,
        {static_cast<std::uint32_t>(sheaf::binding::number(key, "mask")),
         static_cast<std::uint32_t>(sheaf::binding::number(key, "multiplier")) | 1});
    opened = io::WorkerSockets::adopt(
        inherited_sockets(inherited.Get("descriptors").As<Napi::Array>()), steering, steer);
  } else {
    io::SystemRandom random;
    opened = open_sockets(info[1].As<Napi::Array>(),
                          {workers, id_length, quic::Steering::random_key(random)}, steer,
                          flag_argument(info, 6));
  }
  if (!opened) return;
  if (!*opened) {
    system_error(info.Env(), opened->error()).ThrowAsJavaScriptException();
    return;
  }
  sockets_ = std::move(**opened);
  sockets_->group()->set_reading(!flag_argument(info, 5));
  number_ = WorkerGroups::add(sockets_);
}

WorkerGroupObject::~WorkerGroupObject() {
  WorkerGroups::remove(number_);
  inlet_.reset();
  if (cleanup_hook_) napi_remove_async_cleanup_hook(cleanup_hook_);
}

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

// Returns what a successor needs: descriptors of sockets, the key, descriptors of links.
Napi::Value WorkerGroupObject::inheritance(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const auto numbers = [env](const std::vector<int>& descriptors) {
    auto list = Napi::Array::New(env);
    for (const int each : descriptors) list.Set(list.Length(), each);
    return list;
  };
  auto sockets = Napi::Array::New(env);
  for (const std::vector<int>& each : sockets_->descriptors())
    sockets.Set(sockets.Length(), numbers(each));
  const quic::Steering::Key& steering = sockets_->group()->steering().key();
  auto key = Napi::Object::New(env);
  key.Set("mask", static_cast<double>(steering.mask));
  key.Set("multiplier", static_cast<double>(steering.multiplier));
  auto out = Napi::Object::New(env);
  out.Set("descriptors", sockets);
  out.Set("key", key);
  out.Set("links", numbers(sockets_->predecessors().links()));
  return out;
}

// Arguments: descriptor of a link, which this object closes.
void WorkerGroupObject::pass_to(const Napi::CallbackInfo& info) {
  uv_loop_t* loop = nullptr;
  napi_get_uv_event_loop(info.Env(), &loop);
  io::Descriptor link(info[0].As<Napi::Number>().Int32Value());
  sockets_->group()->hand_over();
  io::send_recent_ids(link, sockets_->group()->recent_ids().all());
  auto opened = io::SuccessorInlet::open(loop, std::move(link), sockets_->group());
  if (!opened) {
    system_error(info.Env(), opened.error()).ThrowAsJavaScriptException();
    return;
  }
  inlet_ = std::move(*opened);
  napi_add_async_cleanup_hook(info.Env(), on_environment_end, this, &cleanup_hook_);
  Ref();
  sockets_->predecessors().clear();
}

// Arguments: descriptor of a link, which this object closes.
void WorkerGroupObject::follow(const Napi::CallbackInfo& info) {
  sockets_->predecessors().add(io::Descriptor(info[0].As<Napi::Number>().Int32Value()));
}

void WorkerGroupObject::read(const Napi::CallbackInfo&) { sockets_->group()->set_reading(true); }

void WorkerGroupObject::on_environment_end(napi_async_cleanup_hook_handle, void* object) {
  static_cast<WorkerGroupObject*>(object)->close_inlet();
}

void WorkerGroupObject::close_inlet() {
  if (!inlet_) return;
  inlet_->close([this] {
    // Lets the environment end, which frees this object.
    napi_remove_async_cleanup_hook(std::exchange(cleanup_hook_, nullptr));
    Unref();
  });
  inlet_.reset();
}

void WorkerGroupObject::close(const Napi::CallbackInfo&) {
  close_inlet();
  WorkerGroups::remove(std::exchange(number_, 0));
  // Sockets that a worker has taken stay open until it closes them.
  sockets_->close();
}

}  // namespace sheaf::binding
