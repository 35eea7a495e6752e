#include "binding/shared_counts_object.h"

#include <algorithm>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "binding/call_arguments.h"
#include "io/monotonic_clock.h"

namespace sheaf::binding {

namespace {

struct CountsTable {
  std::mutex mutex;
  std::unordered_map<std::string, std::weak_ptr<quic::SharedCounts>> counts;
};

// Threads may end after the objects with static storage are gone.
CountsTable& counts_table() {
  static CountsTable& table = *new CountsTable;
  return table;
}

// Returns the counts of a name, which all threads of the process share while one of them has them.
std::shared_ptr<quic::SharedCounts> counts_named(const std::string& name) {
  CountsTable& table = counts_table();
  const std::lock_guard lock(table.mutex);
  std::erase_if(table.counts, [](const auto& entry) { return entry.second.expired(); });
  if (auto known = table.counts[name].lock()) return known;
  auto made = std::make_shared<quic::SharedCounts>();
  table.counts[name] = made;
  return made;
}

// Calls `each(name)` for each line of a text.
template <typename Each>
void for_each_line(const std::string& text, Each&& each) {
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    each(text.substr(at, end - at));
    at = end + 1;
  }
}

}  // namespace

Napi::Function SharedCountsObject::define(Napi::Env env) {
  return DefineClass(env, "SharedCounts",
                     {InstanceMethod<&SharedCountsObject::take>("take"),
                      InstanceMethod<&SharedCountsObject::give>("give"),
                      InstanceMethod<&SharedCountsObject::take_turn>("takeTurn")});
}

// Arguments: name.
SharedCountsObject::SharedCountsObject(const Napi::CallbackInfo& info)
    : Napi::ObjectWrap<SharedCountsObject>(info), held_(counts_named(text_argument(info, 0))) {}

// Arguments: names, one in each line; Float64Array of how many there may be of each. Returns the
// place of the first name that has as many, or -1 when all were taken.
Napi::Value SharedCountsObject::take(const Napi::CallbackInfo& info) {
  const auto most = info[1].As<Napi::Float64Array>();
  std::vector<quic::SharedCounts::Claim> claims;
  for_each_line(text_argument(info, 0), [&](std::string name) {
    const double limit = claims.size() < most.ElementLength() ? most[claims.size()] : 0;
    claims.push_back({std::move(name), static_cast<std::size_t>(limit)});
  });
  const auto full = held_.take(claims);
  return Napi::Number::New(info.Env(), full ? static_cast<double>(*full) : -1);
}

// Arguments: names, one in each line.
void SharedCountsObject::give(const Napi::CallbackInfo& info) {
  for_each_line(text_argument(info, 0), [&](const std::string& name) { held_.give(name); });
}

// Arguments: name, how many turns there are in a second.
Napi::Value SharedCountsObject::take_turn(const Napi::CallbackInfo& info) {
  const bool taken =
      held_.take_turn(text_argument(info, 0), number_argument(info, 1), io::monotonic_now());
  return Napi::Boolean::New(info.Env(), taken);
}

}  // namespace sheaf::binding
