#include "crypto/packet_mac.h"

#include <gnutls/crypto.h>

#include <cstdlib>

#include "crypto/ipsec_mb_mac.h"
#include "crypto/packet_keys.h"

namespace sheaf::quic {
namespace {

// GMAC as GCM without a plaintext
class GnuTlsMac final : public PacketMac {
 public:
  GnuTlsMac() { set_key({}); }
  ~GnuTlsMac() override { gnutls_aead_cipher_deinit(handle_); }  // wipes its key
  GnuTlsMac(const GnuTlsMac&) = delete;
  GnuTlsMac& operator=(const GnuTlsMac&) = delete;

  void set_key(const MacKey& key) override {
    if (handle_ != nullptr) gnutls_aead_cipher_deinit(handle_);
    const gnutls_datum_t datum{const_cast<std::uint8_t*>(key.data()),
                               static_cast<unsigned>(key.size())};
    if (gnutls_aead_cipher_init(&handle_, GNUTLS_CIPHER_AES_128_GCM, &datum) != 0) std::abort();
  }

  PacketTag tag(Bytes packet, PacketNumber number) override {
    const Nonce nonce = make_nonce({}, {}, number);
    PacketTag tag;
    std::size_t length = tag.size();
    if (gnutls_aead_cipher_encrypt(handle_, nonce.data(), nonce.size(), packet.data(),
                                   packet.size(), tag.size(), nullptr, 0, tag.data(),
                                   &length) != 0) {
      std::abort();
    }
    return tag;
  }

 private:
  gnutls_aead_cipher_hd_t handle_ = nullptr;
};

}  // namespace

std::unique_ptr<PacketMac> make_packet_mac(CryptoProvider provider) {
  if (provider != CryptoProvider::kGnuTls) {
    auto mac = make_ipsec_mb_mac();
    if (mac || provider == CryptoProvider::kIpsecMb) return mac;
  }
  return std::make_unique<GnuTlsMac>();
}

}  // namespace sheaf::quic
