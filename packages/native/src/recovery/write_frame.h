#pragma once

#include "recovery/sent_packets.h"
#include "wire/frame_codec.h"

namespace sheaf::quic {

// Adds the frame to the packet being built and remembers `record` for it. Returns false when there
// is no room.
inline bool write_frame(Writer& writer, SentPackets& sent, const Frame& frame,
                        const SentFrame& record) {
  if (encoded_size(frame) > writer.remaining()) return false;
  encode(writer, frame);
  sent.add_frame(record);
  return true;
}

}  // namespace sheaf::quic
