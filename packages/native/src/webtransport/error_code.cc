#include "webtransport/error_code.h"

namespace sheaf::webtransport {
namespace {

constexpr std::uint64_t k_first = 0x52e4a40fa8db;
constexpr std::uint64_t k_last = 0x52e5ac983162;
// One code is skipped after every thirty.
constexpr std::uint64_t k_run = 0x1e;

}  // namespace

std::uint64_t to_http_error(std::uint32_t application_error) {
  return k_first + application_error + application_error / k_run;
}

std::optional<std::uint32_t> to_application_error(std::uint64_t http_error) {
  if (http_error < k_first || http_error > k_last) return std::nullopt;
  if ((http_error - 0x21) % (k_run + 1) == 0) return std::nullopt;  // reserved
  const std::uint64_t shifted = http_error - k_first;
  return static_cast<std::uint32_t>(shifted - shifted / (k_run + 1));
}

}  // namespace sheaf::webtransport
