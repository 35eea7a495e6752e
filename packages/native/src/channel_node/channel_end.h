#pragma once

#include "channel_request/channel_request.h"
#include "io/endpoint_loop.h"

namespace sheaf::channel_node {

using quic::Time;

class ReceiverEnd;
class SourceNode;

// One side of a request that joins a channel, on a connection of a loop. It belongs to the
// connection, and is destroyed before the connection's HTTP session.
class ChannelEnd {
 public:
  // All must outlive the end.
  struct Carrier {
    io::EndpointLoop& loop;
    quic::ConnectionDriver& driver;
  };

  virtual ~ChannelEnd() = default;
  virtual channel_request::ChannelRequest& request() = 0;
  // Takes an event of the HTTP session. Returns true when nobody else needs it.
  virtual bool on_event(const http3::SessionEvent& event, Time now) {
    return request().on_event(event, now);
  }
  // To be called after the HTTP session has seen the events of its connection, and this object
  // those of the session.
  virtual void on_turn(Time now) = 0;
  // Null for the source's side
  virtual ReceiverEnd* receiver() { return nullptr; }
  // Null for the receiver's side
  virtual const SourceNode* source() const { return nullptr; }
};

}  // namespace sheaf::channel_node
