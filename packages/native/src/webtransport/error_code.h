#pragma once

#include <cstdint>
#include <optional>

namespace sheaf::webtransport {

// HTTP/3 error codes of draft-ietf-webtrans-http3-02 §8.5 and draft-ietf-webtrans-http3-16 §9.5.
inline constexpr std::uint64_t k_session_gone = 0x170d7b68;
inline constexpr std::uint64_t k_buffered_stream_rejected = 0x3994bd84;
inline constexpr std::uint64_t k_flow_control_error = 0x045d4487;

// Maps a stream error of an application, which has 32 bits, into a range of HTTP/3 error codes. The
// range leaves out the reserved codes of the form 0x1f * N + 0x21 (draft-ietf-webtrans-http3-02
// §4.3).
std::uint64_t to_http_error(std::uint32_t application_error);
// Returns nothing for a code outside of that range.
std::optional<std::uint32_t> to_application_error(std::uint64_t http_error);

}  // namespace sheaf::webtransport
