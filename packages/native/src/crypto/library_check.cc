#include "crypto/library_check.h"

#include <dlfcn.h>
#include <gnutls/gnutls.h>
#include <ngtcp2/ngtcp2.h>
#include <ngtcp2/ngtcp2_crypto.h>

#include <string_view>

namespace sheaf::quic {
namespace {

struct RequiredSymbol {
  std::string_view name;
  const void* address;
  std::string_view library;  // beginning of the file's name
};

std::string_view file_name(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

std::optional<std::string> check_origin(const RequiredSymbol& symbol) {
  Dl_info info{};
  const char* file = dladdr(symbol.address, &info) != 0 ? info.dli_fname : nullptr;
  const std::string_view origin = file != nullptr ? file : "an unknown file";
  if (file_name(origin).starts_with(symbol.library)) return std::nullopt;
  return std::string("The function ")
      .append(symbol.name)
      .append(" comes from ")
      .append(origin)
      .append(" instead of ")
      .append(symbol.library)
      .append("; use Node.js 20.19.5 or newer, which does not export its own copy.");
}

}  // namespace

std::optional<std::string> check_libraries() {
  const RequiredSymbol symbols[] = {
      {"ngtcp2_conn_client_new", reinterpret_cast<const void*>(&ngtcp2_conn_client_new_versioned),
       "libngtcp2.so"},
      {"ngtcp2_crypto_encrypt", reinterpret_cast<const void*>(&ngtcp2_crypto_encrypt),
       "libngtcp2_crypto_gnutls.so"},
      {"gnutls_init", reinterpret_cast<const void*>(&gnutls_init), "libgnutls.so"},
  };
  for (const RequiredSymbol& symbol : symbols) {
    if (auto problem = check_origin(symbol)) return problem;
  }
  if (ngtcp2_version(NGTCP2_VERSION_NUM) == nullptr) {
    return std::string("libngtcp2 ") + ngtcp2_version(0)->version_str +
           " is older than the one this was built with (" NGTCP2_VERSION
           "); install libngtcp2-16 and libngtcp2-crypto-gnutls8 from bookworm-backports.";
  }
  return std::nullopt;
}

}  // namespace sheaf::quic
