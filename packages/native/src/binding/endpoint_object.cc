#include "binding/endpoint_object.h"

#include <unistd.h>

#include <utility>

#include "binding/endpoint_calls.h"
#include "binding/event_report.h"
#include "binding/status_report.h"
#include "binding/system_error.h"
#include "binding/thread_parts.h"
#include "io/monotonic_clock.h"
#include "io/socket_address.h"

namespace sheaf::binding {

Napi::Function EndpointObject::define(Napi::Env env) {
  std::vector<PropertyDescriptor> methods{
      InstanceMethod<&EndpointObject::bind>("bind"),
      method<calls::connect>("connect"),
      method<calls::set_certificate>("setCertificate"),
      method<calls::set_secrets>("setSecrets"),
      method<calls::submit_request>("submitRequest"),
      method<calls::submit_informational>("submitInformational"),
      method<calls::submit_response>("submitResponse"),
      method<calls::submit_trailers>("submitTrailers"),
      method<calls::write_body>("writeBody"),
      method<calls::reserve_body>("reserveBody"),
      method<calls::take_buffer>("takeBuffer"),
      method<calls::read_body>("readBody"),
      method<calls::read_body_into>("readBodyInto"),
      method<calls::stop_reading>("stopReading"),
      method<calls::reset_stream>("resetStream"),
      method<calls::close_connection>("closeConnection"),
      method<calls::shut_down>("shutDown"),
      method<calls::ping>("ping"),
      method<calls::set_stream_priority>("setStreamPriority"),
      method<calls::set_expected_bytes>("setExpectedBytes"),
      method<calls::open_path>("openPath"),
      method<calls::migrate>("migrate"),
      method<calls::abandon_path>("abandonPath"),
      method<calls::set_path_status>("setPathStatus"),
      method<calls::set_path_weight>("setPathWeight"),
      method<calls::pin_stream>("pinStream"),
      method<calls::hand_over_backend>("handOverBackend"),
      method<calls::offer_backend>("offerBackend"),
      method<calls::withdraw_backend>("withdrawBackend"),
      method<calls::receive_backend_message>("receiveBackendMessage"),
      method<calls::import_connection>("importConnection"),
      method<calls::receive_primary_message>("receivePrimaryMessage"),
      method<calls::drain_backend>("drainBackend"),
      method<calls::forget_connection>("forgetConnection"),
      method<calls::open_backend>("openBackend"),
      method<calls::permit_cancellations>("permitCancellations"),
      method<calls::update_keys>("updateKeys"),
      method<calls::connection_status>("connectionStatus"),
      method<calls::connections>("connections"),
      method<calls::counters>("counters"),
      InstanceMethod<&EndpointObject::close>("close")};
  for (const auto add : {add_session_methods, add_return_methods, add_channel_methods})
    add(methods);
  return DefineClass(env, "Endpoint", methods);
}

// WebTransport
void EndpointObject::add_session_methods(std::vector<PropertyDescriptor>& methods) {
  for (const PropertyDescriptor& each :
       {method<calls::accept_session>("acceptSession"),
        method<calls::reject_session>("rejectSession"),
        method<calls::request_session>("requestSession"),
        method<calls::close_session>("closeSession"), method<calls::drain_session>("drainSession"),
        method<calls::open_session_stream>("openSessionStream"),
        method<calls::write_session_stream>("writeSessionStream"),
        method<calls::session_stream_available>("sessionStreamAvailable"),
        method<calls::read_session_stream>("readSessionStream"),
        method<calls::reset_session_stream>("resetSessionStream"),
        method<calls::stop_session_stream>("stopSessionStream"),
        method<calls::send_session_datagram>("sendSessionDatagram"),
        method<calls::send_session_datagrams>("sendSessionDatagrams"),
        method<calls::session_datagram_counts>("sessionDatagramCounts"),
        method<calls::max_session_datagram>("maxSessionDatagram")}) {
    methods.push_back(each);
  }
}

// Direct server return
void EndpointObject::add_return_methods(std::vector<PropertyDescriptor>& methods) {
  for (const PropertyDescriptor& each :
       {method<calls::open_orders>("openOrders"), method<calls::offer_stream>("offerStream"),
        method<calls::hand_off>("handOff"), method<calls::revoke_stream>("revokeStream"),
        method<calls::stream_doubt>("streamDoubt"),
        method<calls::acknowledged_offset>("acknowledgedOffset"),
        method<calls::write_instead>("writeInstead"), method<calls::open_executor>("openExecutor"),
        method<calls::accept_grant>("acceptGrant"),
        method<calls::append_returned>("appendReturned"),
        method<calls::fail_returned>("failReturned"),
        method<calls::returned_bytes>("returnedBytes"),
        method<calls::executor_stats>("executorStats"),
        method<calls::close_node_session>("closeNodeSession")}) {
    methods.push_back(each);
  }
}

// Channels and tunnels
void EndpointObject::add_channel_methods(std::vector<PropertyDescriptor>& methods) {
  for (const PropertyDescriptor& each :
       {method<calls::serve_channel>("serveChannel"), method<calls::watch_channel>("watchChannel"),
        method<calls::read_channel_group>("readChannelGroup"),
        method<calls::channel_status>("channelStatus"),
        method<calls::leave_channel>("leaveChannel"),
        method<calls::forget_channel>("forgetChannel"), method<calls::open_tunnel>("openTunnel"),
        method<calls::report_tunnel>("reportTunnel"),
        method<calls::open_tunnel_port>("openTunnelPort"),
        method<calls::forward_tunnel_peer>("forwardTunnelPeer"),
        method<calls::refuse_tunnel_peer>("refuseTunnelPeer"),
        method<calls::close_tunnel_port>("closeTunnelPort"),
        method<calls::open_stream_tunnel>("openStreamTunnel"),
        method<calls::write_stream_tunnel>("writeStreamTunnel"),
        method<calls::finish_stream_tunnel>("finishStreamTunnel"),
        method<calls::go_on_stream_tunnel>("goOnStreamTunnel"),
        method<calls::leave_stream_tunnel>("leaveStreamTunnel"),
        method<calls::tunnel_counts>("tunnelCounts")}) {
    methods.push_back(each);
  }
}

EndpointObject::EndpointObject(const Napi::CallbackInfo& info)
    : Napi::ObjectWrap<EndpointObject>(info),
      parts_(info[0].As<Napi::Object>()),
      on_events_(Napi::Persistent(info[1].As<Napi::Function>())),
      async_context_(info.Env(), "SheafEndpoint") {
  if (!parts_.settings.fault.empty()) {
    Napi::Error::New(info.Env(), parts_.settings.fault).ThrowAsJavaScriptException();
    return;
  }
  if (parts_.settings.server) {
    auto tls = quic::make_tls_server_context(parts_.settings.server_tls);
    if (!tls) {
      Napi::Error::New(info.Env(), tls.error()).ThrowAsJavaScriptException();
      return;
    }
    parts_.settings.endpoint.server_tls = *tls;
  }
  if (!parts_.settings.key_log_file.empty()) {
    key_log_ = std::fopen(parts_.settings.key_log_file.c_str(), "ae");
    if (!key_log_) {
      Napi::Error::New(info.Env(), "cannot append to the key log " + parts_.settings.key_log_file)
          .ThrowAsJavaScriptException();
      return;
    }
    parts_.settings.endpoint.key_log = [this](std::string_view line) { write_key_log(line); };
  }
  parts_.endpoint = std::make_unique<quic::Endpoint>(parts_.settings.endpoint, parts_.random);
  parts_.switchboard = info.Env().GetInstanceData<ThreadParts>()->switchboard;
  uv_loop_t* loop = nullptr;
  napi_get_uv_event_loop(info.Env(), &loop);
  parts_.loop = std::make_unique<io::EndpointLoop>(loop, *parts_.endpoint, *this);
  napi_add_async_cleanup_hook(info.Env(), on_environment_end, this, &cleanup_hook_);
}

EndpointObject::~EndpointObject() {
  parts_.release();
  if (key_log_) std::fclose(key_log_);
  if (cleanup_hook_) napi_remove_async_cleanup_hook(cleanup_hook_);
}

void EndpointObject::on_environment_end(napi_async_cleanup_hook_handle, void* object) {
  auto& self = *static_cast<EndpointObject*>(object);
  EndpointParts& parts = self.parts_;
  if (parts.loop->closing()) return;  // the end of the loop removes the hook
  const quic::Time now = io::monotonic_now();
  parts.connections.for_each([&](HostedConnection& hosted) {
    hosted.driver().close(http3::value_of(http3::ErrorCode::kNoError), "", now);
    parts.loop->wake(hosted.driver());
  });
  self.stop_loop();
}

void EndpointObject::write_key_log(std::string_view line) {
  std::fwrite(line.data(), 1, line.size(), key_log_);
  if (line.empty() || line.back() != '\n') std::fputc('\n', key_log_);
  std::fflush(key_log_);
}

// --- io::EndpointLoop::Listener -----------------------------------------------------------------

void EndpointObject::on_active(quic::ConnectionDriver& driver, quic::Time now) {
  HostedConnection& hosted = parts_.connections.host(driver);
  hosted.drain(now);
  if (hosted.node_session) hosted.node_session->on_events(now);
  if (parts_.delegations) {
    if (driver.connection().closed()) parts_.delegations->forget(driver);
    parts_.delegations->on_active(driver);
  }
  parts_.path_sockets.release_gone(hosted, *parts_.loop);
  parts_.connections.note_pending(hosted);
}

void EndpointObject::on_flushed(quic::Time now) {
  if (parts_.delegations) parts_.delegations->on_flushed(now);
  parts_.switchboard->on_flushed(*parts_.loop, now);
}

void EndpointObject::on_removed(quic::ConnectionDriver& driver) {
  if (parts_.delegations) parts_.delegations->forget(driver);
  if (!driver.user_data) return;
  const auto& hosted = *static_cast<HostedConnection*>(driver.user_data);
  parts_.path_sockets.release_all(hosted, *parts_.loop);
  parts_.connections.erase(hosted.handle());
}

void EndpointObject::on_turn_end() {
  const bool any = parts_.connections.some_pending() || parts_.returned_bodies.any_events() ||
                   parts_.stream_tunnels.any_pending();
  if (!any || parts_.loop->closing()) return;
  Napi::Env env = Env();
  EventList events(env);
  parts_.connections.take_pending([&](HostedConnection& hosted) {
    report_events(hosted, events);
    if (parts_.delegations) report_orphans(*parts_.delegations, hosted, events);
  });
  report_returned_bodies(parts_.returned_bodies, events);
  report_stream_tunnels(parts_.stream_tunnels, events);
  if (events.empty()) return;
  ++parts_.javascript_calls;
  on_events_.MakeCallback(Value(), {events.array()}, async_context_);
  if (env.IsExceptionPending()) {
    // An exception of an event handler is an error of the program, as in any other callback of
    // Node.
    const Napi::Error error = env.GetAndClearPendingException();
    napi_fatal_exception(env, error.Value());
  }
}

// --- life of the socket ----------------------------------------------------------------------

Napi::Value EndpointObject::bind(const Napi::CallbackInfo& info) {
  if (parts_.bound || parts_.loop->closing()) {
    Napi::Error::New(info.Env(), "the endpoint is bound already, or closed")
        .ThrowAsJavaScriptException();
    return info.Env().Undefined();
  }
  const auto fail = [&](const Napi::Error& error, const std::string& address) {
    if (parts_.bound) stop_loop();  // releases the addresses that were bound before this one
    error.Set("address", address);
    error.ThrowAsJavaScriptException();
    return info.Env().Undefined();
  };
  if (parts_.settings.workers) {
    const auto status =
        parts_.loop->join(parts_.settings.workers, parts_.settings.worker, parts_.settings.socket);
    if (!status) {
      system_error(info.Env(), status.error()).ThrowAsJavaScriptException();
      return info.Env().Undefined();
    }
    note_bound();
    return address_object(info.Env(), parts_.loop->local_address());
  }
  bool first = true;
  for (const std::string& text : parts_.settings.addresses) {
    const std::uint16_t port = first ? parts_.settings.port : parts_.loop->local_address().port;
    const auto address = io::parse_address(text, port);
    if (!address) return fail(not_an_address(info.Env(), text), text);
    const auto refusal = listen_on(*address, std::exchange(first, false));
    if (refusal) return fail(system_error(info.Env(), *refusal), text);
  }
  return address_object(info.Env(), parts_.loop->local_address());
}

std::optional<io::SocketError> EndpointObject::listen_on(const quic::Address& address, bool first) {
  if (!first) {
    const auto added = parts_.loop->add_local_address(address);
    return added ? std::nullopt : std::optional(added.error());
  }
  const auto status = parts_.loop->bind(address, parts_.settings.socket);
  if (!status) return status.error();
  note_bound();
  return std::nullopt;
}

void EndpointObject::note_bound() {
  parts_.bound = true;
  Ref();  // the socket keeps this object alive until `close`
}

void EndpointObject::close(const Napi::CallbackInfo&) {
  if (parts_.loop->closing()) return;
  end_tunnels();
  stop_loop();
}

// Whoever opened a tunnel hears what it carried.
void EndpointObject::end_tunnels() {
  const quic::Time now = io::monotonic_now();
  parts_.connections.for_each([&](HostedConnection& hosted) {
    if (hosted.tunnels.empty()) return;
    hosted.tunnels.on_connection_closed(now);
    parts_.connections.note_pending(hosted);
  });
  parts_.stream_tunnels.end_all();
  on_turn_end();
}

void EndpointObject::stop_loop() {
  parts_.close_tunnels();
  parts_.loop->close([this] {
    // The function's closure refers to this object, so neither could ever be collected.
    on_events_.Reset();
    // Lets the environment end, which frees this object.
    napi_remove_async_cleanup_hook(std::exchange(cleanup_hook_, nullptr));
    if (parts_.bound) Unref();
  });
}

}  // namespace sheaf::binding
