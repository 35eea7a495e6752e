#include "binding/event_list.h"
#include "binding/event_report.h"
#include "channel_node/receiver_node.h"

namespace sheaf::binding {

namespace {

void report_receiver(HostedConnection& hosted, channel_node::ReceiverEnd& receiver,
                     EventList& events) {
  const double stream = number(receiver.request().stream().value);
  if (const auto state = receiver.take_state()) {
    push(events, EventKind::kChannelState, hosted, stream, static_cast<double>(*state),
         Napi::String::New(events.open(), receiver.join_error()));
  }
  while (const auto event = receiver.poll_event()) {
    push(events, EventKind::kChannelGroup, hosted, stream, number(event->group.value),
         static_cast<double>(event->kind), number(event->error));
  }
  if (!receiver.take_over()) return;
  const auto left = receiver.request().left();
  push(events, EventKind::kChannelOver, hosted, stream, number(*receiver.request().over()),
       left ? static_cast<double>(*left) : -1.0);
}

}  // namespace

void report_channels(HostedConnection& hosted, EventList& events) {
  hosted.channels.for_each([&](channel_node::ChannelEnd& end) {
    if (end.receiver()) report_receiver(hosted, *end.receiver(), events);
  });
  hosted.channels.remove_closed();
}

}  // namespace sheaf::binding
