#pragma once

#include <cstdio>
#include <string_view>

#include "recovery/sent_frame.h"
#include "wire/frame.h"

namespace sheaf::qlog {

// Writes one frame as a JSON object of draft-ietf-quic-qlog-quic-events. Of payload, only the
// length is written.
void write_qlog_frame(std::FILE* file, const quic::Frame& frame);
void write_qlog_frame(std::FILE* file, const quic::SentFrame& frame);

// Writes a string with quotes. Bytes outside of printable ASCII, which a peer may send in a reason,
// are escaped.
void write_json_string(std::FILE* file, std::string_view text);

}  // namespace sheaf::qlog
