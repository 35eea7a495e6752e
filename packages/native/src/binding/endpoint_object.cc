#include "binding/endpoint_object.h"

#include <unistd.h>

#include <array>
#include <utility>

#include "binding/call_arguments.h"
#include "binding/field_list.h"
#include "binding/javascript_buffer.h"
#include "binding/status_report.h"
#include "binding/system_error.h"
#include "io/monotonic_clock.h"
#include "io/socket_address.h"

namespace sheaf::binding {

using quic::StreamId;

namespace {

// Bytes given to JavaScript per call; more waits in the transport.
constexpr std::size_t k_read_size = 64 << 10;

// In a thread that is being ended these calls fail at any time, and who asked is gone. What the C++
// wrapper makes of that would end the process.
struct NewBuffer {
  NewBuffer(napi_env environment, std::size_t size) : env(environment), length(size) {
    void* data = nullptr;
    if (napi_create_buffer(env, length, &data, &value) == napi_ok) {
      bytes = static_cast<std::uint8_t*>(data);
    }
  }

  napi_env env;
  std::size_t length;
  napi_value value = nullptr;
  std::uint8_t* bytes = nullptr;  // null: there is no Buffer
};

// A view where little of the Buffer is unused, a smaller Buffer otherwise: nobody keeps much more
// memory alive than there are bytes in it.
Napi::Value first_bytes(const NewBuffer& buffer, std::size_t size) {
  const napi_env env = buffer.env;
  napi_value result = nullptr;
  if (size == buffer.length) return {env, buffer.value};
  if (size < buffer.length / 2) {
    napi_create_buffer_copy(env, size, buffer.bytes, nullptr, &result);
    return {env, result};
  }
  napi_value subarray = nullptr;
  std::array<napi_value, 2> bounds{};
  napi_create_uint32(env, 0, &bounds[0]);
  napi_create_uint32(env, static_cast<std::uint32_t>(size), &bounds[1]);
  if (napi_get_named_property(env, buffer.value, "subarray", &subarray) == napi_ok) {
    napi_call_function(env, buffer.value, subarray, bounds.size(), bounds.data(), &result);
  }
  return {env, result};
}

}  // namespace

Napi::Function EndpointObject::define(Napi::Env env) {
  return DefineClass(
      env, "Endpoint",
      {InstanceMethod<&EndpointObject::bind>("bind"),
       InstanceMethod<&EndpointObject::connect>("connect"),
       InstanceMethod<&EndpointObject::set_certificate>("setCertificate"),
       InstanceMethod<&EndpointObject::submit_request>("submitRequest"),
       InstanceMethod<&EndpointObject::submit_informational>("submitInformational"),
       InstanceMethod<&EndpointObject::submit_response>("submitResponse"),
       InstanceMethod<&EndpointObject::submit_trailers>("submitTrailers"),
       InstanceMethod<&EndpointObject::write_body>("writeBody"),
       InstanceMethod<&EndpointObject::reserve_body>("reserveBody"),
       InstanceMethod<&EndpointObject::take_buffer>("takeBuffer"),
       InstanceMethod<&EndpointObject::read_body>("readBody"),
       InstanceMethod<&EndpointObject::read_body_into>("readBodyInto"),
       InstanceMethod<&EndpointObject::stop_reading>("stopReading"),
       InstanceMethod<&EndpointObject::reset_stream>("resetStream"),
       InstanceMethod<&EndpointObject::close_connection>("closeConnection"),
       InstanceMethod<&EndpointObject::shut_down>("shutDown"),
       InstanceMethod<&EndpointObject::ping>("ping"),
       InstanceMethod<&EndpointObject::accept_session>("acceptSession"),
       InstanceMethod<&EndpointObject::reject_session>("rejectSession"),
       InstanceMethod<&EndpointObject::request_session>("requestSession"),
       InstanceMethod<&EndpointObject::close_session>("closeSession"),
       InstanceMethod<&EndpointObject::drain_session>("drainSession"),
       InstanceMethod<&EndpointObject::open_session_stream>("openSessionStream"),
       InstanceMethod<&EndpointObject::write_session_stream>("writeSessionStream"),
       InstanceMethod<&EndpointObject::session_stream_available>("sessionStreamAvailable"),
       InstanceMethod<&EndpointObject::read_session_stream>("readSessionStream"),
       InstanceMethod<&EndpointObject::reset_session_stream>("resetSessionStream"),
       InstanceMethod<&EndpointObject::stop_session_stream>("stopSessionStream"),
       InstanceMethod<&EndpointObject::set_stream_priority>("setStreamPriority"),
       InstanceMethod<&EndpointObject::set_expected_bytes>("setExpectedBytes"),
       InstanceMethod<&EndpointObject::send_session_datagram>("sendSessionDatagram"),
       InstanceMethod<&EndpointObject::send_session_datagrams>("sendSessionDatagrams"),
       InstanceMethod<&EndpointObject::session_datagram_counts>("sessionDatagramCounts"),
       InstanceMethod<&EndpointObject::max_session_datagram>("maxSessionDatagram"),
       InstanceMethod<&EndpointObject::open_path>("openPath"),
       InstanceMethod<&EndpointObject::migrate>("migrate"),
       InstanceMethod<&EndpointObject::abandon_path>("abandonPath"),
       InstanceMethod<&EndpointObject::set_path_status>("setPathStatus"),
       InstanceMethod<&EndpointObject::set_path_weight>("setPathWeight"),
       InstanceMethod<&EndpointObject::pin_stream>("pinStream"),
       InstanceMethod<&EndpointObject::hand_over_backend>("handOverBackend"),
       InstanceMethod<&EndpointObject::offer_backend>("offerBackend"),
       InstanceMethod<&EndpointObject::withdraw_backend>("withdrawBackend"),
       InstanceMethod<&EndpointObject::receive_backend_message>("receiveBackendMessage"),
       InstanceMethod<&EndpointObject::import_connection>("importConnection"),
       InstanceMethod<&EndpointObject::receive_primary_message>("receivePrimaryMessage"),
       InstanceMethod<&EndpointObject::drain_backend>("drainBackend"),
       InstanceMethod<&EndpointObject::forget_connection>("forgetConnection"),
       InstanceMethod<&EndpointObject::open_backend>("openBackend"),
       InstanceMethod<&EndpointObject::update_keys>("updateKeys"),
       InstanceMethod<&EndpointObject::connection_status>("connectionStatus"),
       InstanceMethod<&EndpointObject::connections>("connections"),
       InstanceMethod<&EndpointObject::counters>("counters"),
       InstanceMethod<&EndpointObject::close>("close")});
}

EndpointObject::EndpointObject(const Napi::CallbackInfo& info)
    : Napi::ObjectWrap<EndpointObject>(info),
      settings_(info[0].As<Napi::Object>()),
      on_events_(Napi::Persistent(info[1].As<Napi::Function>())),
      async_context_(info.Env(), "SheafEndpoint") {
  if (settings_.server) {
    auto tls = quic::make_tls_server_context(settings_.server_tls);
    if (!tls) {
      Napi::Error::New(info.Env(), tls.error()).ThrowAsJavaScriptException();
      return;
    }
    settings_.endpoint.server_tls = *tls;
  }
  if (!settings_.key_log_file.empty()) {
    key_log_ = std::fopen(settings_.key_log_file.c_str(), "ae");
    if (!key_log_) {
      Napi::Error::New(info.Env(), "cannot append to the key log " + settings_.key_log_file)
          .ThrowAsJavaScriptException();
      return;
    }
    settings_.endpoint.key_log = [this](std::string_view line) { write_key_log(line); };
  }
  if (!settings_.qlog_directory.empty()) qlogs_.emplace(settings_.qlog_directory);
  endpoint_ = std::make_unique<quic::Endpoint>(settings_.endpoint, random_);
  uv_loop_t* loop = nullptr;
  napi_get_uv_event_loop(info.Env(), &loop);
  loop_ = std::make_unique<io::EndpointLoop>(loop, *endpoint_, *this);
  napi_add_async_cleanup_hook(info.Env(), on_environment_end, this, &cleanup_hook_);
}

EndpointObject::~EndpointObject() {
  // Sessions refer to connections, connections to streams that lend Buffers.
  hosted_.clear();
  loop_.reset();
  endpoint_.reset();
  if (key_log_) std::fclose(key_log_);
  if (cleanup_hook_) napi_remove_async_cleanup_hook(cleanup_hook_);
}

void EndpointObject::on_environment_end(napi_async_cleanup_hook_handle, void* object) {
  auto& self = *static_cast<EndpointObject*>(object);
  if (self.loop_->closing()) return;  // the loop's end removes the hook
  const quic::Time now = io::monotonic_now();
  for (const auto& [handle, hosted] : self.hosted_) {
    hosted->driver().close(http3::value_of(http3::ErrorCode::kNoError), "", now);
    self.loop_->wake(hosted->driver());
  }
  self.stop_loop();
}

void EndpointObject::write_key_log(std::string_view line) {
  std::fwrite(line.data(), 1, line.size(), key_log_);
  if (line.empty() || line.back() != '\n') std::fputc('\n', key_log_);
  std::fflush(key_log_);
}

// --- connections --------------------------------------------------------------------------------

HostedConnection& EndpointObject::host(quic::ConnectionDriver& driver) {
  if (driver.user_data) return *static_cast<HostedConnection*>(driver.user_data);
  const std::uint32_t handle = next_handle_++;
  auto made = std::make_unique<HostedConnection>(handle, driver, random_, settings_.session,
                                                 qlogs_ ? &*qlogs_ : nullptr);
  HostedConnection& hosted = *made;
  driver.user_data = &hosted;
  hosted_.emplace(handle, std::move(made));
  return hosted;
}

HostedConnection* EndpointObject::connection_of(const Napi::CallbackInfo& info) {
  ++javascript_calls_;
  const auto found = hosted_.find(static_cast<std::uint32_t>(number_argument(info, 0)));
  if (found == hosted_.end() || loop_->closing()) return nullptr;
  loop_->wake(found->second->driver());
  return found->second.get();
}

void EndpointObject::on_active(quic::ConnectionDriver& driver, quic::Time now) {
  HostedConnection& hosted = host(driver);
  hosted.drain(now);
  path_sockets_.release_gone(hosted, *loop_);
  if (hosted.pending) return;
  hosted.pending = true;
  pending_.push_back(hosted.handle());
}

void EndpointObject::on_removed(quic::ConnectionDriver& driver) {
  if (!driver.user_data) return;
  const auto& hosted = *static_cast<HostedConnection*>(driver.user_data);
  path_sockets_.release_all(hosted, *loop_);
  hosted_.erase(hosted.handle());
}

// --- calls from JavaScript ----------------------------------------------------------------------

Napi::Value EndpointObject::bind(const Napi::CallbackInfo& info) {
  if (bound_ || loop_->closing()) {
    Napi::Error::New(info.Env(), "the endpoint is bound already, or closed")
        .ThrowAsJavaScriptException();
    return info.Env().Undefined();
  }
  const auto fail = [&](Napi::Error error, const std::string& address) {
    if (bound_) stop_loop();  // the addresses before this one are given back
    error.Set("address", address);
    error.ThrowAsJavaScriptException();
    return info.Env().Undefined();
  };
  bool first = true;
  for (const std::string& text : settings_.addresses) {
    const std::uint16_t port = first ? settings_.port : loop_->local_address().port;
    const auto address = io::parse_address(text, port);
    if (!address) return fail(not_an_address(info.Env(), text), text);
    const auto refusal = listen_on(*address, std::exchange(first, false));
    if (refusal) return fail(system_error(info.Env(), *refusal), text);
  }
  return address_object(info.Env(), loop_->local_address());
}

std::optional<io::SocketError> EndpointObject::listen_on(const quic::Address& address, bool first) {
  if (!first) {
    const auto added = loop_->add_local_address(address);
    return added ? std::nullopt : std::optional(added.error());
  }
  const auto status = loop_->bind(address, {.reuse_port = settings_.reuse_port});
  if (!status) return status.error();
  bound_ = true;
  Ref();  // the socket keeps this object alive until `close`
  return std::nullopt;
}

Napi::Value EndpointObject::connect(const Napi::CallbackInfo& info) {
  const auto options = info[0].As<Napi::Object>();
  const auto fail = [&](const std::string& reason) {
    Napi::Error::New(info.Env(), reason).ThrowAsJavaScriptException();
    return info.Env().Undefined();
  };
  if (!bound_ || loop_->closing()) return fail("the endpoint is not bound, or closed");
  const std::string remote = options.Get("remoteAddress").ToString();
  const auto address = io::parse_address(
      remote, static_cast<std::uint16_t>(options.Get("remotePort").ToNumber().Uint32Value()));
  if (!address) {
    not_an_address(info.Env(), remote).ThrowAsJavaScriptException();
    return info.Env().Undefined();
  }

  quic::TlsClientConfig tls{
      .alpn = settings_.alpn,
      .certificate_authority_pem = options.Get("certificateAuthority").ToString(),
      .certificate_hashes = {},
      .public_key_hashes = {},
      .insecure = options.Get("insecure").ToBoolean()};
  if (!parse_hashes(options.Get("certificateHashes"), tls.certificate_hashes) ||
      !parse_hashes(options.Get("publicKeyHashes"), tls.public_key_hashes)) {
    return fail("a hash is not 64 hexadecimal digits");
  }
  auto context = quic::make_tls_client_context(tls);
  if (!context) return fail(context.error());

  quic::ClientHandshakeConfig handshake;
  handshake.tls = *context;
  handshake.server_name = options.Get("serverName").ToString();
  handshake.path = {loop_->local_address(), io::on_link_of(*address, loop_->local_address())};
  if (const auto session = as_bytes(options.Get("session"))) {
    handshake.session = quic::parse_session_state({session->Data(), session->ByteLength()});
  }
  const auto connected =
      endpoint_->connect(std::move(handshake), settings_.endpoint.connection, io::monotonic_now());
  if (!connected) return fail(connected.error().reason);
  HostedConnection& hosted = host(**connected);
  path_sockets_.add(hosted, loop_->local_address());
  // With 0-RTT there may be requests from now on.
  hosted.drain(io::monotonic_now());
  loop_->wake(**connected);
  return Napi::Number::New(info.Env(), hosted.handle());
}

void EndpointObject::set_certificate(const Napi::CallbackInfo& info) {
  quic::TlsServerConfig config = settings_.server_tls;
  config.certificate_pem = info[0].ToString();
  config.private_key_pem = info[1].ToString();
  auto tls = quic::make_tls_server_context(config);
  if (!tls) {
    Napi::Error::New(info.Env(), tls.error()).ThrowAsJavaScriptException();
    return;
  }
  settings_.server_tls = config;
  endpoint_->set_server_tls(*tls);
}

Napi::Value EndpointObject::submit_request(const Napi::CallbackInfo& info) {
  HostedConnection* hosted = connection_of(info);
  const auto refuse = [&](http3::Refusal why) {
    return Napi::Number::New(info.Env(), refusal_code(why));
  };
  if (!hosted) return refuse(http3::Refusal::kConnectionClosed);
  if (!hosted->session()) return refuse(http3::Refusal::kNotReady);
  const auto stream = hosted->session()->submit_request(to_fields(info[1].As<Napi::Array>()),
                                                        flag_argument(info, 2));
  if (!stream) return refuse(stream.error());
  return Napi::Number::New(info.Env(), static_cast<double>(stream->value));
}

Napi::Value EndpointObject::submit_informational(const Napi::CallbackInfo& info) {
  HostedConnection* hosted = connection_of(info);
  double outcome = refusal_code(http3::Refusal::kConnectionClosed);
  if (hosted && hosted->session()) {
    const auto status = hosted->session()->submit_informational(
        stream_argument(info), to_fields(info[2].As<Napi::Array>()));
    outcome = status ? 0 : refusal_code(status.error());
  }
  return Napi::Number::New(info.Env(), outcome);
}

Napi::Value EndpointObject::submit_response(const Napi::CallbackInfo& info) {
  HostedConnection* hosted = connection_of(info);
  double outcome = refusal_code(http3::Refusal::kConnectionClosed);
  if (hosted && hosted->session()) {
    const auto status = hosted->session()->submit_response(
        stream_argument(info), to_fields(info[2].As<Napi::Array>()), flag_argument(info, 3));
    outcome = status ? 0 : refusal_code(status.error());
  }
  return Napi::Number::New(info.Env(), outcome);
}

Napi::Value EndpointObject::submit_trailers(const Napi::CallbackInfo& info) {
  HostedConnection* hosted = connection_of(info);
  double outcome = refusal_code(http3::Refusal::kConnectionClosed);
  if (hosted && hosted->session()) {
    const auto status = hosted->session()->submit_trailers(stream_argument(info),
                                                           to_fields(info[2].As<Napi::Array>()));
    outcome = status ? 0 : refusal_code(status.error());
  }
  return Napi::Number::New(info.Env(), outcome);
}

Napi::Value EndpointObject::write_body(const Napi::CallbackInfo& info) {
  HostedConnection* hosted = connection_of(info);
  double outcome = refusal_code(http3::Refusal::kConnectionClosed);
  if (hosted && hosted->session()) {
    const auto bytes = as_bytes(info[2]);
    const bool from_pool = flag_argument(info, 4);
    quic::SendChunk chunk;
    if (bytes && bytes->ByteLength() > 0) {
      chunk = from_pool ? body_buffers_.lend(*bytes) : lend(*bytes);
    }
    const auto taken = hosted->session()->write_body(stream_argument(info), std::move(chunk),
                                                     flag_argument(info, 3));
    outcome = taken ? (*taken ? 1 : 0) : refusal_code(taken.error());
  }
  return Napi::Number::New(info.Env(), outcome);
}

Napi::Value EndpointObject::reserve_body(const Napi::CallbackInfo& info) {
  HostedConnection* hosted = connection_of(info);
  if (!hosted || !hosted->session()) return Napi::Number::New(info.Env(), 0);
  return Napi::Number::New(
      info.Env(), static_cast<double>(hosted->session()->reserve_body(stream_argument(info))));
}

Napi::Value EndpointObject::take_buffer(const Napi::CallbackInfo& info) {
  return body_buffers_.take(info.Env(), number_argument(info, 0));
}

Napi::Value EndpointObject::read_body(const Napi::CallbackInfo& info) {
  HostedConnection* hosted = connection_of(info);
  if (!hosted || !hosted->session()) return info.Env().Undefined();
  const StreamId stream = stream_argument(info);
  const std::size_t most = std::min(hosted->session()->readable_body(stream), k_read_size);
  if (most == 0) return info.Env().Undefined();
  const NewBuffer buffer(info.Env(), most);
  if (!buffer.bytes) return {};
  const std::size_t size =
      hosted->session()->read_body(stream, {buffer.bytes, most}, io::monotonic_now());
  return first_bytes(buffer, size);
}

Napi::Value EndpointObject::read_body_into(const Napi::CallbackInfo& info) {
  HostedConnection* hosted = connection_of(info);
  auto into = as_bytes(info[2]);
  std::size_t size = 0;
  if (hosted && hosted->session() && into) {
    size = hosted->session()->read_body(stream_argument(info), {into->Data(), into->ByteLength()},
                                        io::monotonic_now());
  }
  return Napi::Number::New(info.Env(), static_cast<double>(size));
}

void EndpointObject::stop_reading(const Napi::CallbackInfo& info) {
  HostedConnection* hosted = connection_of(info);
  if (!hosted || !hosted->session()) return;
  hosted->session()->stop_reading(stream_argument(info), number_argument(info, 2));
}

void EndpointObject::reset_stream(const Napi::CallbackInfo& info) {
  HostedConnection* hosted = connection_of(info);
  if (!hosted || !hosted->session()) return;
  hosted->session()->reset(stream_argument(info), number_argument(info, 2));
}

void EndpointObject::close_connection(const Napi::CallbackInfo& info) {
  HostedConnection* hosted = connection_of(info);
  if (!hosted) return;
  const std::string reason = info[2].ToString();
  hosted->driver().close(number_argument(info, 1), reason, io::monotonic_now());
}

void EndpointObject::shut_down(const Napi::CallbackInfo&) {
  endpoint_->stop_accepting();
  for (const auto& [handle, hosted] : hosted_) {
    hosted->announce_shutdown();
    loop_->wake(hosted->driver());
  }
}

void EndpointObject::ping(const Napi::CallbackInfo& info) {
  if (HostedConnection* hosted = connection_of(info)) hosted->driver().connection().ping();
}

Napi::Value EndpointObject::update_keys(const Napi::CallbackInfo& info) {
  HostedConnection* hosted = connection_of(info);
  const bool updated =
      hosted && hosted->driver().connection().initiate_key_update(io::monotonic_now());
  return Napi::Boolean::New(info.Env(), updated);
}

Napi::Value EndpointObject::connection_status(const Napi::CallbackInfo& info) {
  const auto found = hosted_.find(static_cast<std::uint32_t>(number_argument(info, 0)));
  if (found == hosted_.end()) return info.Env().Undefined();
  return status_object(info.Env(), found->second->driver(), io::monotonic_now());
}

Napi::Value EndpointObject::connections(const Napi::CallbackInfo& info) {
  Napi::Array out = Napi::Array::New(info.Env());
  for (const auto& [handle, hosted] : hosted_) out.Set(out.Length(), handle);
  return out;
}

Napi::Value EndpointObject::counters(const Napi::CallbackInfo& info) {
  Napi::Object counters = counters_object(info.Env(), *endpoint_);
  counters.Set("javascriptCalls", static_cast<double>(javascript_calls_));
  return counters;
}

void EndpointObject::close(const Napi::CallbackInfo&) {
  if (!loop_->closing()) stop_loop();
}

void EndpointObject::stop_loop() {
  loop_->close([this] {
    // The function's closure refers to this object: together they would never be collected.
    on_events_.Reset();
    // Lets the environment end, which frees this object.
    napi_remove_async_cleanup_hook(std::exchange(cleanup_hook_, nullptr));
    if (bound_) Unref();
  });
}

}  // namespace sheaf::binding
