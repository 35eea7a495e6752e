#include "http3/request_datagrams.h"

namespace sheaf::http3 {

bool RequestDatagrams::peer_lacks_datagrams() const {
  return parts_.peer_settings && !parts_.peer_settings->datagrams;
}

std::size_t RequestDatagrams::max_payload(StreamId stream) const {
  if (!parts_.config.takes_datagrams() || !parts_.peer_settings || !parts_.peer_settings->datagrams)
    return 0;
  const std::size_t prefix = quic::varint_size(stream.value / 4);
  const std::size_t room = parts_.transport.max_datagram_payload();
  return room > prefix ? room - prefix : 0;
}

bool RequestDatagrams::send(StreamId stream, Bytes payload, std::uint64_t identifier,
                            Bytes prefix) {
  const std::size_t size = prefix.size() + payload.size();
  if (parts_.closed || size > max_payload(stream)) return false;
  scratch_.resize(8 + size);
  quic::Writer writer(scratch_);
  writer.write_varint(stream.value / 4);
  writer.write_bytes(prefix);
  writer.write_bytes(payload);
  return parts_.transport.send_datagram(writer.written(), identifier);
}

void RequestDatagrams::claim(StreamId request, DatagramConsumer& consumer) {
  if (parts_.find(request)) router_.claim(request, consumer);
}

void RequestDatagrams::serve(StreamId request, DatagramConsumer& consumer) {
  if (RequestStream* stream = parts_.find(request)) parts_.admission.lighten(stream->place);
  claim(request, consumer);
}

void RequestDatagrams::read() {
  while (!parts_.closed) {
    const auto received = parts_.transport.receive_datagram();
    if (!received) return;
    if (!parts_.config.takes_datagrams())
      continue;  // datagrams were not announced, so these have
                 // no meaning
    quic::Reader reader(received->payload);
    const std::uint64_t quarter = reader.read_varint();
    // RFC 9297 §2.1: a datagram begins with the id of a client-initiated bidirectional stream,
    // divided by four.
    if (!reader.ok() || quarter > quic::k_max_varint / 4) {
      return parts_.fail({ErrorCode::kDatagramError, "quarter stream id"});
    }
    route({{quarter * 4}, received->payload.last(reader.remaining()), received->ecn});
  }
}

void RequestDatagrams::route(HttpDatagram datagram) {
  const StreamId id = datagram.stream;
  if (router_.deliver(datagram)) return;
  RequestStream* stream = parts_.find(id);
  if (!stream) {
    if (parts_.request_open_or_to_come(id)) router_.hold(datagram);
    return;  // the request has ended (RFC 9297 §2.1)
  }
  const bool answer_complete =
      !stream->own_request && stream->writing == RequestStream::Writing::kEnded;
  if (stream->reading_done || answer_complete) return;  // the request is about to end
  if (!stream->head_known() || (stream->extended_connect && !stream->answered)) {
    return router_.hold(datagram);
  }
  // RFC 9297 §2: the protocol of this request gives datagrams no meaning.
  parts_.abandon(id, *stream, value_of(ErrorCode::kDatagramError));
  writer_.write_pending();
  parts_.events.push_back(StreamReset{id, value_of(ErrorCode::kDatagramError)});
}

}  // namespace sheaf::http3
