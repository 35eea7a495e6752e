#include "switchboard/run_channel.h"

#include <utility>

namespace sheaf::switchboard {

RunChannel::RunChannel(const Request& request) : request_(request) {
  request_.session.datagrams().claim(request_.stream, *this);
}

RunChannel::~RunChannel() { request_.session.datagrams().release(request_.stream); }

bool RunChannel::send(quic::Bytes payload) {
  const bool taken = request_.session.datagrams().send(request_.stream, payload, 0);
  queued_ = queued_ || taken;
  if (!taken) ++dropped_;
  return taken;
}

void RunChannel::flush() {
  if (std::exchange(queued_, false)) request_.loop.send_now(request_.driver);
}

// The queue of the transport bounds what one turn brings.
void RunChannel::on_datagram(http3::HttpDatagram datagram) {
  received_.insert(received_.end(), datagram.payload.begin(), datagram.payload.end());
  sizes_.push_back(datagram.payload.size());
}

void RunChannel::forget_received() {
  received_.clear();
  sizes_.clear();
}

}  // namespace sheaf::switchboard
