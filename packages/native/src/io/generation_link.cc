#include "io/generation_link.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <cerrno>
#include <utility>

#include "wire/fixed_fields.h"

namespace sheaf::io {

using quic::Owner;

namespace {

// Kind of the message, addresses, ECN mark. The two processes may be of different versions.
constexpr std::uint8_t k_datagram = 1;
constexpr std::uint8_t k_recent_ids = 2;
constexpr std::size_t k_header_length = 1 + 2 * 18 + 1;
constexpr std::size_t k_max_link_payload = 65'536;
constexpr int k_messages_per_turn = 256;
constexpr std::size_t k_max_ids_message =
    1 + workers::RecentIds::k_max_ids * (1 + quic::ConnectionId::k_max_length);

enum class LinkOutcome : std::uint8_t { kSent, kFull, kClosed };

LinkOutcome send_over(int link, const quic::Datagram& datagram) {
  std::array<std::uint8_t, k_header_length> header;
  quic::Writer writer(header);
  writer.write_u8(k_datagram);
  quic::fixed::write_addresses(writer, datagram.path);
  writer.write_u8(static_cast<std::uint8_t>(datagram.ecn));
  std::array<iovec, 2> parts{
      {{header.data(), header.size()}, {datagram.payload.data(), datagram.payload.size()}}};
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = parts.size();
  if (sendmsg(link, &message, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0) return LinkOutcome::kSent;
  // What does not fit is lost, as in the queue of a socket.
  const bool full = would_block(errno) || errno == EMSGSIZE || errno == ENOBUFS;
  return full ? LinkOutcome::kFull : LinkOutcome::kClosed;
}

bool read_message(quic::MutableBytes message, quic::Datagram& out) {
  quic::Reader reader(message);
  if (reader.read_u8() != k_datagram) return false;
  out.path = quic::fixed::read_addresses(reader);
  out.ecn = static_cast<quic::Ecn>(reader.read_u8() & 3);
  if (!reader.ok()) return false;
  out.payload = message.last(reader.remaining());
  return true;
}

}  // namespace

quic::Result<std::array<Descriptor, 2>, SocketError> make_generation_link() {
  std::array<int, 2> ends;
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data()) != 0)
    return SocketError{errno, "cannot make a link between two processes"};
  for (const int end : ends) {
    enlarge(end, SocketBuffer::kSend);
    enlarge(end, SocketBuffer::kReceive);
  }
  return std::array{Descriptor(ends[0]), Descriptor(ends[1])};
}

void send_recent_ids(const Descriptor& link, const std::vector<quic::ConnectionId>& ids) {
  std::vector<std::uint8_t> message(k_max_ids_message);
  quic::Writer writer(message);
  writer.write_u8(k_recent_ids);
  for (const quic::ConnectionId& id : ids) {
    if (writer.remaining() < 1u + id.length) break;
    writer.write_u8(id.length);
    writer.write_bytes(id.view());
  }
  // Without it, clients that shake hands at this moment have to connect again.
  static_cast<void>(
      send(link.number(), message.data(), writer.size(), MSG_DONTWAIT | MSG_NOSIGNAL));
}

// --- Predecessors -------------------------------------------------------------------------------

void Predecessors::add(Descriptor link) {
  const std::lock_guard lock(mutex_);
  links_.push_back({std::move(link), {}});
}

std::vector<int> Predecessors::links() const {
  const std::lock_guard lock(mutex_);
  std::vector<int> numbers;
  for (const Link& link : links_) numbers.push_back(link.descriptor.number());
  return numbers;
}

void Predecessors::clear() {
  const std::lock_guard lock(mutex_);
  links_.clear();
}

Owner Predecessors::pass_on(const quic::Datagram& datagram, const quic::DatagramHeader& header) {
  const std::lock_guard lock(mutex_);
  if (header.may_open()) {
    if (header.destination.size() > quic::ConnectionId::k_max_length) return Owner::kNobody;
    const quic::ConnectionId id(header.destination);
    for (Link& link : links_) {
      read_ids(link);
      if (!link.in_handshakes.contains(id)) continue;
      send_over(link.descriptor.number(), datagram);
      return Owner::kAnother;
    }
    return Owner::kNobody;
  }
  std::erase_if(links_, [&](const Link& link) {
    return send_over(link.descriptor.number(), datagram) == LinkOutcome::kClosed;
  });
  return links_.empty() ? Owner::kNobody : Owner::kAnother;
}

void Predecessors::read_ids(Link& link) {
  std::vector<std::uint8_t> message(k_max_ids_message);
  const auto size = recv(link.descriptor.number(), message.data(), message.size(), MSG_DONTWAIT);
  if (size <= 0) return;
  quic::Reader reader(quic::Bytes(message).first(static_cast<std::size_t>(size)));
  if (reader.read_u8() != k_recent_ids) return;
  while (reader.ok() && !reader.empty()) {
    const quic::Bytes id = reader.read_bytes(reader.read_u8());
    if (id.size() <= quic::ConnectionId::k_max_length)
      link.in_handshakes.insert(quic::ConnectionId(id));
  }
}

// --- SuccessorInlet -----------------------------------------------------------------------------

// Lives until libuv has closed it, which is after the inlet is gone.
struct SuccessorInlet::Handle {
  std::shared_ptr<workers::WorkerGroup> group;
  Descriptor link;
  uv_poll_t poll{};
  std::vector<std::uint8_t> buffer =
      std::vector<std::uint8_t>(k_header_length + k_max_link_payload);
  std::function<void()> done;

  void on_readable() {
    for (int message = 0; message < k_messages_per_turn; ++message) {
      const auto size = recv(link.number(), buffer.data(), buffer.size(), MSG_DONTWAIT);
      if (size < 0) return;
      if (size == 0) {
        // The successor has ended.
        uv_poll_stop(&poll);
        return;
      }
      quic::Datagram datagram;
      if (read_message(quic::MutableBytes(buffer).first(static_cast<std::size_t>(size)), datagram))
        group->deliver(datagram);
    }
  }
};

quic::Result<std::unique_ptr<SuccessorInlet>, SocketError> SuccessorInlet::open(
    uv_loop_t* loop, Descriptor link, std::shared_ptr<workers::WorkerGroup> group) {
  auto handle = std::make_unique<Handle>();
  handle->group = std::move(group);
  handle->link = std::move(link);
  if (const int error = uv_poll_init(loop, &handle->poll, handle->link.number()))
    return SocketError{-error, "cannot watch a link between two processes"};
  handle->poll.data = handle.get();
  uv_poll_start(&handle->poll, UV_READABLE, [](uv_poll_t* poll, int status, int) {
    if (status >= 0) static_cast<Handle*>(poll->data)->on_readable();
  });
  uv_unref(reinterpret_cast<uv_handle_t*>(&handle->poll));
  std::unique_ptr<SuccessorInlet> made(new SuccessorInlet);
  made->handle_ = handle.release();
  return made;
}

void SuccessorInlet::close(std::function<void()> done) {
  Handle* handle = std::exchange(handle_, nullptr);
  if (!handle) {
    if (done) done();
    return;
  }
  handle->done = std::move(done);
  uv_close(reinterpret_cast<uv_handle_t*>(&handle->poll), [](uv_handle_t* closed) {
    const std::unique_ptr<Handle> owned(static_cast<Handle*>(closed->data));
    if (owned->done) owned->done();
  });
}

}  // namespace sheaf::io
