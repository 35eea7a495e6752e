#include "switchboard/run_channel.h"

#include <utility>

namespace sheaf::switchboard {

RunChannel::RunChannel(const Request& request) : request_(request) {
  request_.session.datagrams().claim(request_.stream, inbox_);
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

}  // namespace sheaf::switchboard
