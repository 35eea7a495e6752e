#include "connection/application_streams.h"

#include "connection/parts.h"

namespace sheaf::quic {

ApplicationStreams::ApplicationStreams(ConnectionParts& parts)
    : parts_(parts),
      writer_(parts.streams.writer()),
      reader_(parts.streams.reader()),
      memory_(parts.streams.memory()) {}

std::size_t ApplicationStreams::open_bidirectional() const {
  return parts_.streams.open_bidirectional_streams();
}

bool ApplicationStreams::received_early(StreamId stream) const {
  return stream.initiator() == peer_of(parts_.role) &&
         stream.directionality() == Directionality::kBidirectional &&
         stream.index() < parts_.early.streams;
}

void ApplicationStreams::drop() {
  parts_.streams.drop();
  // To the peer a critical stream that ends is a fault: it hears of the close alone.
  parts_.close.last_words_sent();
}

}  // namespace sheaf::quic
