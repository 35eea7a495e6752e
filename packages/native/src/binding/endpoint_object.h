#pragma once

#include <napi.h>

#include <cstdio>
#include <memory>
#include <unordered_map>
#include <vector>

#include "binding/buffer_pool.h"
#include "binding/endpoint_settings.h"
#include "binding/event_kind.h"
#include "binding/hosted_connection.h"
#include "binding/path_sockets.h"
#include "io/endpoint_loop.h"
#include "io/system_random.h"

namespace sheaf::binding {

// `NativeEndpoint` of lib/addon.ts: UDP sockets with their connections. JavaScript hears of events
// once per turn of the loop, as one array; nothing crosses the border per packet.
class EndpointObject final : public Napi::ObjectWrap<EndpointObject>,
                             public io::EndpointLoop::Listener {
 public:
  static Napi::Function define(Napi::Env env);
  explicit EndpointObject(const Napi::CallbackInfo& info);
  ~EndpointObject() override;

 private:
  // --- io::EndpointLoop::Listener -----------------------------------------------------------
  void on_active(quic::ConnectionDriver& driver, quic::Time now) override;
  void on_turn_end() override;
  void on_removed(quic::ConnectionDriver& driver) override;

  // --- called by JavaScript -----------------------------------------------------------------
  Napi::Value bind(const Napi::CallbackInfo& info);
  Napi::Value connect(const Napi::CallbackInfo& info);
  void set_certificate(const Napi::CallbackInfo& info);
  Napi::Value submit_request(const Napi::CallbackInfo& info);
  Napi::Value submit_informational(const Napi::CallbackInfo& info);
  Napi::Value submit_response(const Napi::CallbackInfo& info);
  Napi::Value submit_trailers(const Napi::CallbackInfo& info);
  Napi::Value write_body(const Napi::CallbackInfo& info);
  Napi::Value reserve_body(const Napi::CallbackInfo& info);
  Napi::Value take_buffer(const Napi::CallbackInfo& info);
  Napi::Value read_body(const Napi::CallbackInfo& info);
  Napi::Value read_body_into(const Napi::CallbackInfo& info);
  void stop_reading(const Napi::CallbackInfo& info);
  void reset_stream(const Napi::CallbackInfo& info);
  void close_connection(const Napi::CallbackInfo& info);
  void shut_down(const Napi::CallbackInfo& info);
  void ping(const Napi::CallbackInfo& info);
  Napi::Value accept_session(const Napi::CallbackInfo& info);
  Napi::Value reject_session(const Napi::CallbackInfo& info);
  Napi::Value request_session(const Napi::CallbackInfo& info);
  void close_session(const Napi::CallbackInfo& info);
  void drain_session(const Napi::CallbackInfo& info);
  Napi::Value open_session_stream(const Napi::CallbackInfo& info);
  Napi::Value write_session_stream(const Napi::CallbackInfo& info);
  Napi::Value session_stream_available(const Napi::CallbackInfo& info);
  Napi::Value read_session_stream(const Napi::CallbackInfo& info);
  void reset_session_stream(const Napi::CallbackInfo& info);
  void stop_session_stream(const Napi::CallbackInfo& info);
  void set_stream_priority(const Napi::CallbackInfo& info);
  void set_expected_bytes(const Napi::CallbackInfo& info);
  Napi::Value send_session_datagram(const Napi::CallbackInfo& info);
  void send_session_datagrams(const Napi::CallbackInfo& info);
  Napi::Value session_datagram_counts(const Napi::CallbackInfo& info);
  Napi::Value max_session_datagram(const Napi::CallbackInfo& info);
  Napi::Value open_path(const Napi::CallbackInfo& info);
  Napi::Value migrate(const Napi::CallbackInfo& info);
  Napi::Value abandon_path(const Napi::CallbackInfo& info);
  Napi::Value set_path_status(const Napi::CallbackInfo& info);
  Napi::Value set_path_weight(const Napi::CallbackInfo& info);
  Napi::Value pin_stream(const Napi::CallbackInfo& info);
  Napi::Value hand_over_backend(const Napi::CallbackInfo& info);
  Napi::Value offer_backend(const Napi::CallbackInfo& info);
  Napi::Value withdraw_backend(const Napi::CallbackInfo& info);
  Napi::Value receive_backend_message(const Napi::CallbackInfo& info);
  Napi::Value import_connection(const Napi::CallbackInfo& info);
  Napi::Value receive_primary_message(const Napi::CallbackInfo& info);
  void drain_backend(const Napi::CallbackInfo& info);
  void forget_connection(const Napi::CallbackInfo& info);
  Napi::Value open_backend(const Napi::CallbackInfo& info);
  Napi::Value update_keys(const Napi::CallbackInfo& info);
  Napi::Value connection_status(const Napi::CallbackInfo& info);
  Napi::Value connections(const Napi::CallbackInfo& info);
  Napi::Value counters(const Napi::CallbackInfo& info);
  void close(const Napi::CallbackInfo& info);

  // `first`: the endpoint was not bound to any address before.
  std::optional<io::SocketError> listen_on(const quic::Address& address, bool first);
  HostedConnection& host(quic::ConnectionDriver& driver);
  // The connection named by the first argument, awake; null when it is gone.
  HostedConnection* connection_of(const Napi::CallbackInfo& info);
  // Its WebTransport sessions; null when it is gone or has none.
  webtransport::SessionSet* sessions_of(const Napi::CallbackInfo& info);
  void report(HostedConnection& hosted, Napi::Array& events);
  // Moves what the HTTP/3 session reports; true when there was something.
  bool report_http_events(HostedConnection& hosted, Napi::Array& events, quic::Time now);
  bool report_webtransport_events(HostedConnection& hosted, Napi::Array& events);
  void report_webtransport_event(HostedConnection& hosted, const webtransport::Event& event,
                                 Napi::Array& events);
  void report_datagrams(HostedConnection& hosted, Napi::Array& events);
  void report_backend_messages(HostedConnection& hosted, Napi::Array& events, quic::Time now);
  void report_connection_event(HostedConnection& hosted, const quic::Event& event,
                               Napi::Array& events);
  void report_established(HostedConnection& hosted, Napi::Array& events);
  void report_session_event(HostedConnection& hosted, const http3::SessionEvent& event,
                            Napi::Array& events);
  void write_key_log(std::string_view line);
  // The environment (a worker thread, the process) ends while the endpoint may be open.
  static void on_environment_end(napi_async_cleanup_hook_handle hook, void* object);
  void stop_loop();

  EndpointSettings settings_;
  io::SystemRandom random_;
  std::optional<qlog::QlogDirectory> qlogs_;
  BufferPool body_buffers_;  // outlives the connections, which give them back
  std::unique_ptr<quic::Endpoint> endpoint_;
  std::unique_ptr<io::EndpointLoop> loop_;
  Napi::FunctionReference on_events_;
  Napi::AsyncContext async_context_;
  std::unordered_map<std::uint32_t, std::unique_ptr<HostedConnection>> hosted_;
  PathSockets path_sockets_;
  std::vector<std::uint32_t> pending_;
  std::uint32_t next_handle_ = 1;
  std::uint64_t javascript_calls_ = 0;  // both ways
  bool bound_ = false;
  std::FILE* key_log_ = nullptr;
  napi_async_cleanup_hook_handle cleanup_hook_ = nullptr;
};

}  // namespace sheaf::binding
