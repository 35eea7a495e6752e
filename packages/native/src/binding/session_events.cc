#include <algorithm>
#include <variant>

#include "binding/event_list.h"
#include "binding/event_report.h"
#include "binding/field_list.h"

namespace sheaf::binding {

namespace {

void report_webtransport_event(HostedConnection& hosted, const webtransport::Event& event,
                               EventList& events) {
  Napi::Env env = events.open();
  const auto report = [&](EventKind kind, quic::StreamId id, auto... values) {
    push(events, kind, hosted, number(id.value), values...);
  };
  std::visit(
      Overloaded{
          // JavaScript treats this like any other request, and recognises it by its `:protocol`.
          [&](const webtransport::SessionRequested& requested) {
            report_established(hosted, events);
            report(EventKind::kRequest, requested.session, to_array(env, requested.fields), false);
          },
          [&](const webtransport::SessionEstablished& established) {
            report(EventKind::kSessionReady, established.session,
                   to_array(env, established.fields));
          },
          [&](const webtransport::SessionRefused& refused) {
            report(EventKind::kSessionRejected, refused.session, number(refused.status));
          },
          [&](const webtransport::SessionDraining& draining) {
            report(EventKind::kSessionDraining, draining.session);
          },
          [&](const webtransport::SessionClosed& closed) {
            report_datagrams(hosted, events);  // reports first the datagrams that came before
            report(EventKind::kSessionClosed, closed.session, number(closed.code),
                   Napi::String::New(env, closed.reason), closed.clean);
          },
          [&](const webtransport::StreamOpened& opened) {
            const bool unidirectional =
                opened.stream.directionality() == quic::Directionality::kUnidirectional;
            report(EventKind::kSessionStream, opened.stream, number(opened.session.value),
                   unidirectional);
          },
          [&](const webtransport::StreamReadable& readable) {
            report(EventKind::kSessionStreamReadable, readable.stream);
          },
          [&](const webtransport::StreamWritable& writable) {
            report(EventKind::kSessionStreamWritable, writable.stream);
          },
          [&](const webtransport::StreamReset& reset) {
            report(EventKind::kSessionStreamReset, reset.stream, number(reset.error.value_or(0)));
          },
          [&](const webtransport::StreamStopped& stopped) {
            report(EventKind::kSessionStreamStopped, stopped.stream,
                   number(stopped.error.value_or(0)));
          },
          [&](const webtransport::StreamAcknowledged&) {},
          [&](const webtransport::StreamClosed& closed) {
            report(EventKind::kSessionStreamClosed, closed.stream);
          },
          [&](const webtransport::DatagramsWritable&) {
            push(events, EventKind::kSessionDatagramsWritable, hosted);
          },
      },
      event);
}

}  // namespace

bool report_webtransport_events(HostedConnection& hosted, EventList& events) {
  bool any = false;
  while (hosted.sessions()) {
    const auto event = hosted.sessions()->poll_event();
    if (!event) break;
    any = true;
    report_webtransport_event(hosted, *event, events);
  }
  return any;
}

void report_datagrams(HostedConnection& hosted, EventList& events) {
  hosted.datagrams().drain(
      [&](quic::StreamId session, quic::Bytes bytes, const std::vector<std::uint32_t>& sizes) {
        Napi::Env env = events.open();
        auto lengths = Napi::Uint32Array::New(env, sizes.size());
        std::copy(sizes.begin(), sizes.end(), lengths.Data());
        push(events, EventKind::kSessionDatagrams, hosted, number(session.value),
             Napi::Buffer<std::uint8_t>::Copy(env, bytes.data(), bytes.size()), lengths);
      });
}

}  // namespace sheaf::binding
