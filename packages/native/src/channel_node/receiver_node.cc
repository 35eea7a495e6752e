#include "channel_node/receiver_node.h"

#include <algorithm>

#include "io/monotonic_clock.h"

namespace sheaf::channel_node {

using quic::Bytes;

namespace {

// System calls in a turn, so that other sockets get theirs, too.
constexpr int k_receive_calls = 16;

}  // namespace

quic::Result<std::unique_ptr<ReceiverEnd>, io::SocketError> ReceiverEnd::open(
    uv_loop_t* loop, const Carrier& carrier, const channel_request::ChannelRequest::Place& place,
    const ReceiverSettings& settings, quic::Random& random) {
  std::unique_ptr<ReceiverEnd> end(new ReceiverEnd(loop, carrier, place, settings, random));
  auto timer = io::DeadlineTimer::open(loop, [self = end.get()] { self->on_due(); });
  if (!timer) return timer.error();
  end->timer_ = std::move(*timer);
  end->settle(io::monotonic_now());
  return end;
}

ReceiverEnd::ReceiverEnd(uv_loop_t* loop, const Carrier& carrier,
                         const channel_request::ChannelRequest::Place& place,
                         const ReceiverSettings& settings, quic::Random& random)
    : loop_(loop),
      carrier_(carrier),
      settings_(settings),
      request_(place, settings.limits, random, io::monotonic_now()) {}

void ReceiverEnd::on_turn(Time now) {
  request_.on_turn(now);
  settle(now);
  if (request_.take_queued()) wake();
}

void ReceiverEnd::settle(Time now) {
  follow_group(now);
  request_.send(now);
  set_timer();
}

void ReceiverEnd::set_timer() {
  timer_->set(std::min({request_.next_timeout(), join_at_, read_at_}));
}

void ReceiverEnd::on_due() {
  // A group whose packets wait in the socket is not silent.
  const Time now = socket_ ? read_group() : io::monotonic_now();
  request_.on_timeout(now);
  settle(now);
  wake();
}

void ReceiverEnd::leave(Time now) {
  request_.leave(quic::LeaveReason::kWish, now);
  settle(now);
}

// --- the group ----------------------------------------------------------------------------------

void ReceiverEnd::follow_group(Time now) {
  const bool is_new = std::exchange(followed_, request_.offers()) != request_.offers();
  const bool wanted = std::exchange(wants_group_, settings_.joins && request_.wants_group(now));
  if (is_new) join_error_.clear();
  if (!wants_group_) {
    close_socket();
    join_at_ = quic::k_never;
    return;
  }
  if (is_new || !wanted) {
    join_at_ = now;
  } else if (hears_group()) {
    join_at_ = quic::k_never;
  } else if (join_at_ == quic::k_never) {
    join_at_ = now + settings_.join_again;
  }
  if (now < join_at_) return;
  join_error_ = join(is_new);
  if (join_error_.empty()) {
    request_.on_joined();
  } else {
    close_socket();
  }
  join_at_ = hears_group() ? quic::k_never : now + settings_.join_again;
}

bool ReceiverEnd::hears_group() {
  return socket_ && request_.receiver()->state() == quic::ListenState::kReceiving;
}

std::string ReceiverEnd::join(bool keeps_socket) {
  const quic::ChannelOffer& offer = request_.offer();
  if (!may_join(offer.source)) {
    return "the source " + to_string(offer.source) + " is neither the server nor permitted";
  }
  io::GroupMembership membership{offer.source, offer.group, settings_.interface};
  if (membership.interface == 0) {
    membership.interface = io::interface_towards(offer.source).value_or(0);
  }
  if (keeps_socket && socket_ && membership == joined_) return {};
  auto socket = io::WatchedSocket::open(loop_, offer.group, {.group_member = true},
                                        [this](auto&) { on_packets(); });
  if (!socket) return socket.error().message;
  const auto joined = io::join_group((*socket)->descriptor(), membership);
  if (!joined) return joined.error().message;
  // The old socket goes when the new one is a member, so the host never leaves the group.
  close_socket();
  socket_ = std::move(*socket);
  joined_ = membership;
  return {};
}

bool ReceiverEnd::may_join(const quic::Address& source) const {
  const auto paths = carrier_.driver.connection().paths().stats();
  const bool from_peer = std::ranges::any_of(
      paths, [&](const auto& path) { return path.addresses.remote.same_ip(source); });
  return from_peer || std::ranges::any_of(settings_.sources, [&](const quic::Address& permitted) {
           return permitted.same_ip(source);
         });
}

void ReceiverEnd::close_socket() {
  socket_.reset();
  read_at_ = quic::k_never;
}

void ReceiverEnd::on_packets() {
  const Time now = read_group();
  // The owner is told in the next turn, and may find that the request is over.
  request_.send(now);
  set_timer();
  wake();
}

Time ReceiverEnd::read_group() {
  std::size_t datagrams = 0;
  for (int call = 0; call < k_receive_calls; ++call) {
    // A packet must not seem to have come before it did: the scheme `timed` would believe whoever
    // has a key that was disclosed in the meantime. So clocks are read after the call.
    std::optional<Time> came;
    datagrams += socket_->receive([&](const quic::Datagram& datagram) {
      if (!came) {
        came = io::monotonic_now();
        if (sleep_.woke(io::time_asleep())) request_.on_woke(*came);
      }
      request_.on_group_packet(datagram.payload, *came);
    });
    if (socket_->drained()) break;
  }
  const Time now = io::monotonic_now();
  const std::uint64_t taken = request_.receiver() ? request_.receiver()->taken() : 0;
  const Time next = reads_.on_read(datagrams, taken, now);
  const bool pauses = next > now;
  socket_->pause(pauses);
  read_at_ = !pauses ? quic::k_never : socket_->drained() ? next : now;
  return now;
}

// --- groups of objects --------------------------------------------------------------------------

std::optional<quic::GroupEvent> ReceiverEnd::poll_event() {
  return request_.receiver() ? request_.receiver()->groups().poll_event() : std::nullopt;
}

std::optional<quic::ListenState> ReceiverEnd::take_state() {
  if (!request_.receiver()) return std::nullopt;
  const quic::ListenState state = request_.receiver()->state();
  if (told_state_ == state) return std::nullopt;
  told_state_ = state;
  return state;
}

std::size_t ReceiverEnd::read(quic::StreamId group, quic::MutableBytes out) {
  if (!request_.receiver()) return 0;
  quic::GroupStreams& groups = request_.receiver()->groups();
  std::size_t size = 0;
  while (size < out.size()) {
    const Bytes bytes = groups.peek(group);
    if (bytes.empty()) break;
    const std::size_t part = std::min(bytes.size(), out.size() - size);
    std::copy_n(bytes.begin(), part, out.begin() + static_cast<std::ptrdiff_t>(size));
    groups.consume(group, part);
    size += part;
  }
  return size;
}

}  // namespace sheaf::channel_node
