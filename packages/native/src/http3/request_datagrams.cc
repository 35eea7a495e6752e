#include "http3/session.h"

// HTTP datagrams (RFC 9297).

namespace sheaf::http3 {

bool Session::takes_datagrams() const { return config_.datagrams || config_.webtransport; }

bool Session::peer_lacks_datagrams() const { return peer_settings_ && !peer_settings_->datagrams; }

std::size_t Session::max_datagram_payload(StreamId stream) const {
  if (!takes_datagrams() || !peer_settings_ || !peer_settings_->datagrams) return 0;
  const std::size_t prefix = quic::varint_size(stream.value / 4);
  const std::size_t room = transport_.max_datagram_payload();
  return room > prefix ? room - prefix : 0;
}

bool Session::send_datagram(StreamId stream, Bytes payload, std::uint64_t identifier) {
  if (closed_ || payload.size() > max_datagram_payload(stream)) return false;
  scratch_.resize(8 + payload.size());
  quic::Writer writer(scratch_);
  writer.write_varint(stream.value / 4);
  writer.write_bytes(payload);
  return transport_.send_datagram(writer.written(), identifier);
}

void Session::claim_datagrams(StreamId request, DatagramConsumer& consumer) {
  if (find(request)) datagrams_.claim(request, consumer);
}

void Session::read_datagrams() {
  while (!closed_) {
    const auto bytes = transport_.receive_datagram();
    if (!bytes) return;
    if (!takes_datagrams()) continue;  // never asked for: it means nothing here
    quic::Reader reader(*bytes);
    const std::uint64_t quarter = reader.read_varint();
    // RFC 9297 §2.1: the id of a client-initiated bidirectional stream, divided by four.
    if (!reader.ok() || quarter > quic::k_max_varint / 4) {
      return fail({ErrorCode::kDatagramError, "quarter stream id"});
    }
    route_datagram({{quarter * 4}, bytes->last(reader.remaining())});
  }
}

void Session::route_datagram(HttpDatagram datagram) {
  const StreamId id = datagram.stream;
  if (datagrams_.deliver(datagram)) return;
  RequestStream* stream = find(id);
  if (!stream) {
    if (request_open_or_to_come(id)) datagrams_.hold(datagram);
    return;  // of a request that is over (RFC 9297 §2.1)
  }
  const bool answer_complete =
      !stream->own_request && stream->writing == RequestStream::Writing::kEnded;
  if (stream->reading_done || answer_complete) return;  // it is as good as over
  if (!stream->head_known() || (stream->extended_connect && !stream->answered)) {
    return datagrams_.hold(datagram);
  }
  // RFC 9297 §2: nobody knows what datagrams of this request mean.
  reset(id, value_of(ErrorCode::kDatagramError));
  events_.push_back(StreamReset{id, value_of(ErrorCode::kDatagramError)});
}

}  // namespace sheaf::http3
