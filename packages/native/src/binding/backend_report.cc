#include "binding/backend_report.h"

#include <algorithm>

#include "binding/event_list.h"
#include "io/socket_address.h"
#include "multi_end/backends.h"

namespace sheaf::binding {

namespace {

// Returns the fields that every role reports about a backend. `path` is null when this side has
// none.
Napi::Object backend_object(Napi::Env env, quic::BackendId backend, quic::PathId path_id,
                            const quic::PathStats* path) {
  Napi::Object out = Napi::Object::New(env);
  const auto rtt = path ? path->smoothed_rtt : quic::Duration::zero();
  out.Set("backend", backend.value);
  out.Set("path", path_id.value);
  out.Set("smoothedRttMs", std::chrono::duration<double, std::milli>(rtt).count());
  out.Set("bytesSent", number(path ? path->bytes_sent : 0));
  out.Set("bytesReceived", number(path ? path->bytes_received : 0));
  return out;
}

void set_address(Napi::Object& out, const quic::Address& address) {
  out.Set("address", io::ip_string(address));
  out.Set("port", static_cast<double>(address.port));
}

Napi::Object lease_object(Napi::Env env, std::uint64_t granted, std::uint64_t returned) {
  Napi::Object out = Napi::Object::New(env);
  out.Set("granted", number(granted));
  out.Set("returned", number(returned));
  return out;
}

const char* primary_state(const quic::BackendStats& backend) {
  if (backend.abandoned) return "abandoned";
  if (backend.offered) return "offered";
  return backend.drains ? "withdrawn" : "handed-over";
}

const char* client_state(const quic::BackendStats& backend, const quic::PathStats* path) {
  if (backend.abandoned) return "abandoned";
  if (!backend.offered) return "withdrawn";
  if (!path) return "offered";
  // The state need not be `validated`: this side may send at once on a path that was handed over.
  return path->state == quic::PathState::kValidating ? "opening" : "open";
}

Napi::Object own_object(Napi::Env env, const quic::ConnectionDriver& driver) {
  const quic::BackendExchange& exchange = *driver.backend_exchange();
  const auto paths = driver.connection().paths().stats();
  const quic::PathStats* path = paths.empty() ? nullptr : &paths.front();
  Napi::Object out = backend_object(env, exchange.backend(), exchange.path(), path);
  set_address(out, path ? path->addresses.local : quic::Address{});
  out.Set("state", exchange.drains() ? "draining" : "serving");
  const quic::LeaseHolder& leases = exchange.leases();
  Napi::Object lease = lease_object(env, leases.granted(), leases.returned());
  lease.Set("left", number(exchange.credit_left()));
  out.Set("lease", lease);
  return out;
}

}  // namespace

Napi::Array backends_array(Napi::Env env, const quic::ConnectionDriver& driver) {
  Napi::Array out = Napi::Array::New(env);
  if (driver.backend_exchange()) {
    out.Set(0u, own_object(env, driver));
    return out;
  }
  const auto backends = quic::backend_stats(driver.connection());
  if (backends.empty()) return out;
  const auto paths = driver.connection().paths().stats();
  for (const quic::BackendStats& backend : backends) {
    const auto found = std::ranges::find(paths, backend.path, &quic::PathStats::id);
    const quic::PathStats* path = found == paths.end() ? nullptr : &*found;
    Napi::Object object = backend_object(env, backend.backend, backend.path, path);
    set_address(object, backend.address);
    const quic::PrimaryExchange* primary = driver.primary_exchange();
    object.Set("state", primary ? primary_state(backend) : client_state(backend, path));
    if (const auto totals = primary ? primary->grantor().totals(backend.backend) : std::nullopt) {
      object.Set("lease", lease_object(env, totals->granted, totals->returned));
    }
    out.Set(out.Length(), object);
  }
  return out;
}

}  // namespace sheaf::binding
