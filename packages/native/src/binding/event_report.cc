#include "binding/event_report.h"

#include <utility>
#include <variant>

#include "binding/event_list.h"
#include "binding/field_list.h"
#include "binding/status_report.h"
#include "io/monotonic_clock.h"

namespace sheaf::binding {

namespace {

void report_path_event(HostedConnection& hosted, const quic::Event& event, EventList& events) {
  const auto report = [&](EventKind kind, quic::PathId path, auto... values) {
    push(events, kind, hosted, number(path.value), values...);
  };
  std::visit(
      Overloaded{
          [&](const quic::HandshakeConfirmedEvent&) {
            push(events, EventKind::kPathsAvailable, hosted);
          },
          [&](const quic::PathsAvailableEvent&) {
            push(events, EventKind::kPathsAvailable, hosted);
          },
          [&](const quic::PathOpenedEvent& opened) { report(EventKind::kPathOpened, opened.path); },
          [&](const quic::PathValidatedEvent& validated) {
            report(EventKind::kPathValidated, validated.path);
          },
          [&](const quic::PathChangedEvent& moved) { report(EventKind::kPathMoved, moved.path); },
          [&](const quic::PathStatusEvent& status) {
            report(EventKind::kPathStatus, status.path, status.status == quic::PathStatus::kBackup);
          },
          [&](const quic::PathAbandonedEvent& abandoned) {
            report(EventKind::kPathAbandoned, abandoned.path, number(abandoned.error),
                   abandoned.by_peer);
          },
          [](const auto&) {}},
      event);
}

void report_backend_event(HostedConnection& hosted, const quic::Event& event, EventList& events) {
  const auto report = [&](EventKind kind, const auto& about, auto... values) {
    push(events, kind, hosted, number(about.backend.value), number(about.path.value), values...);
  };
  std::visit(Overloaded{[&](const quic::BackendOfferedEvent& offered) {
                          report(EventKind::kBackendOffered, offered,
                                 Napi::String::New(events.open(), ip_text(offered.address)),
                                 static_cast<double>(offered.address.port));
                        },
                        [&](const quic::BackendWithdrawnEvent& withdrawn) {
                          report(EventKind::kBackendWithdrawn, withdrawn, number(withdrawn.reason));
                        },
                        [&](const quic::BackendLeftEvent& left) {
                          report(EventKind::kBackendPathAbandoned, left, number(left.error));
                        },
                        [&](const quic::PrimaryLostEvent&) {
                          push(events, EventKind::kPrimaryLost, hosted);
                        },
                        [](const auto&) {}},
             event);
}

void report_connection_event(HostedConnection& hosted, const quic::Event& event,
                             EventList& events) {
  Napi::Env env = events.open();
  quic::ConnectionDriver& driver = hosted.driver();
  if (const auto* closed = std::get_if<quic::ConnectionClosed>(&event)) {
    push(events, EventKind::kConnectionClosed, hosted, static_cast<double>(closed->cause),
         number(closed->error), Napi::String::New(env, closed->reason));
  } else if (std::holds_alternative<quic::SessionTicketEvent>(event)) {
    const std::vector<std::uint8_t> session = driver.session();
    push(events, EventKind::kSessionTicket, hosted,
         Napi::Buffer<std::uint8_t>::Copy(env, session.data(), session.size()));
  } else if (std::holds_alternative<quic::EstablishedEvent>(event)) {
    report_established(hosted, events);
  } else {
    report_path_event(hosted, event, events);
    report_backend_event(hosted, event, events);
  }
}

void report_session_event(HostedConnection& hosted, const http3::SessionEvent& event,
                          EventList& events) {
  Napi::Env env = events.open();
  const auto stream_event = [&](EventKind kind, quic::StreamId stream) {
    push(events, kind, hosted, number(stream.value));
  };
  // A request may arrive in 0-RTT packets, before the connection is established.
  if (std::holds_alternative<http3::RequestReceived>(event)) report_established(hosted, events);
  std::visit(Overloaded{[&](const http3::SettingsReceived&) {
                          const auto* session = hosted.http3();
                          const bool webtransport = session && session->peer_settings() &&
                                                    session->peer_settings()->webtransport.any();
                          push(events, EventKind::kSettings, hosted, webtransport);
                        },
                        [&](const http3::RequestReceived& request) {
                          push(events, EventKind::kRequest, hosted, number(request.stream.value),
                               to_array(env, request.fields), request.early);
                        },
                        [&](const http3::ResponseReceived& response) {
                          push(events, EventKind::kResponse, hosted, number(response.stream.value),
                               to_array(env, response.fields), response.informational);
                        },
                        [&](const http3::TrailersReceived& trailers) {
                          push(events, EventKind::kTrailers, hosted, number(trailers.stream.value),
                               to_array(env, trailers.fields));
                        },
                        [&](const http3::BodyReadable& body) {
                          stream_event(EventKind::kBodyReadable, body.stream);
                        },
                        [&](const http3::MessageFinished& message) {
                          stream_event(EventKind::kMessageFinished, message.stream);
                        },
                        [&](const http3::BodyWritable& body) {
                          stream_event(EventKind::kBodyWritable, body.stream);
                        },
                        [&](const http3::StreamReset& reset) {
                          push(events, EventKind::kStreamReset, hosted, number(reset.stream.value),
                               number(reset.error));
                        },
                        [&](const http3::WritingStopped& stopped) {
                          push(events, EventKind::kWritingStopped, hosted,
                               number(stopped.stream.value), number(stopped.error));
                        },
                        [&](const http3::StreamClosed& closed) {
                          stream_event(EventKind::kStreamClosed, closed.stream);
                        },
                        [&](const http3::StreamsAvailable&) {
                          push(events, EventKind::kRequestsAvailable, hosted);
                          push(events, EventKind::kSessionStreamsAvailable, hosted);
                        },
                        [&](const http3::GoAwayReceived& away) {
                          push(events, EventKind::kGoAway, hosted, number(away.id));
                        },
                        [](const auto&) {}},
             event);
}

bool report_http_events(HostedConnection& hosted, EventList& events, quic::Time now) {
  bool any = false;
  while (hosted.session()) {
    auto event = hosted.session()->poll_event();
    if (!event) break;
    any = true;
    if (hosted.channels.on_event(*event, now)) continue;
    const bool tunnelled = hosted.tunnels.on_event(*event, now);
    report_tunnels(hosted, events);
    if (tunnelled) continue;
    if (hosted.sessions() && hosted.sessions()->on_event(*event, now)) continue;
    report_session_event(hosted, *event, events);
  }
  return any;
}

// Reports messages between the servers of one connection, of which a transfer causes a few per
// round trip.
void report_backend_messages(HostedConnection& hosted, EventList& events, quic::Time now) {
  const auto buffer = [&](const std::vector<std::uint8_t>& bytes) {
    return Napi::Buffer<std::uint8_t>::Copy(events.open(), bytes.data(), bytes.size());
  };
  if (quic::PrimaryExchange* exchange = hosted.driver().primary_exchange()) {
    // The client's connection ids for paths arrive a little later than the end of the handshake.
    if (!hosted.multi_end_reported && exchange->ready(now)) {
      hosted.multi_end_reported = true;
      push(events, EventKind::kMultiEndReady, hosted);
    }
    while (const auto outgoing = exchange->poll_message(now)) {
      push(events, EventKind::kBackendMessage, hosted, number(outgoing->backend.value),
           buffer(outgoing->message));
    }
  }
  if (quic::BackendExchange* exchange = hosted.driver().backend_exchange()) {
    const bool drained = hosted.poll_drained();
    while (const auto message = exchange->poll_message(now)) {
      push(events, EventKind::kPrimaryMessage, hosted, buffer(*message));
    }
    if (drained) push(events, EventKind::kDrained, hosted);
  }
}

}  // namespace

void report_established(HostedConnection& hosted, EventList& events) {
  if (std::exchange(hosted.reported, true)) return;
  Napi::Env env = events.open();
  quic::ConnectionDriver& driver = hosted.driver();
  const auto paths = driver.connection().paths().stats();
  const quic::Address remote = paths.empty() ? quic::Address{} : paths.front().addresses.remote;
  push(events, EventKind::kEstablished, hosted, Napi::String::New(env, driver.alpn()),
       Napi::String::New(env, hex(driver.original_destination().view())),
       Napi::String::New(env, ip_text(remote)), static_cast<double>(remote.port),
       Napi::String::New(env, family_text(remote)));
}

void report_orphans(switchboard::Delegations& delegations, HostedConnection& hosted,
                    EventList& events) {
  quic::DelegatedStreams* streams = delegations.find(hosted.driver());
  while (streams) {
    const auto orphan = streams->poll_orphan();
    if (!orphan) return;
    push(events, EventKind::kReturnLost, hosted, number(orphan->stream.value),
         static_cast<double>(orphan->reason), number(orphan->code), number(orphan->acknowledged));
  }
}

void report_returned_bodies(switchboard::ReturnedBodies& bodies, EventList& events) {
  for (const auto& event : bodies.take_events()) {
    Napi::Array values = Napi::Array::New(events.open(), 4);
    values.Set(0u, static_cast<std::uint32_t>(event.over ? EventKind::kReturnOver
                                                         : EventKind::kReturnRoom));
    values.Set(1u, 0);
    values.Set(2u, event.body);
    values.Set(3u, number(event.sent));
    events.append(values);
  }
}

void report_events(HostedConnection& hosted, EventList& events) {
  const quic::Time now = io::monotonic_now();
  // JavaScript forgets a connection that has closed, so it first hears what became of the streams.
  std::optional<quic::Event> closed;
  while (auto event = hosted.poll_connection_event()) {
    if (std::holds_alternative<quic::ConnectionClosed>(*event)) {
      closed = std::move(event);
    } else {
      report_connection_event(hosted, *event, events);
    }
  }
  // Events of WebTransport may cause events of HTTP/3, and the other way round.
  while (report_http_events(hosted, events, now) || report_webtransport_events(hosted, events)) {
  }
  report_datagrams(hosted, events);
  hosted.channels.on_turn(now);
  report_channels(hosted, events);
  hosted.tunnels.on_turn(now);
  report_tunnels(hosted, events);
  hosted.tunnels.remove_closed();
  report_backend_messages(hosted, events, now);
  if (closed) report_connection_event(hosted, *closed, events);
}

}  // namespace sheaf::binding
