#include "crypto/ipsec_mb_mac.h"

#if SHEAF_HAVE_IPSEC_MB

#include <intel-ipsec-mb.h>

#include "crypto/packet_keys.h"

namespace sheaf::quic {
namespace {

// The functions that suit this processor, which keep no state
struct MacFunctions {
  aes_gcm_pre_t prepare;
  aes_gmac_init_t begin;
  aes_gmac_update_t update;
  aes_gmac_finalize_t finish;
};

class IpsecMbMac final : public PacketMac {
 public:
  explicit IpsecMbMac(const MacFunctions& functions) : functions_(functions) { set_key({}); }

  void set_key(const MacKey& key) override { functions_.prepare(key.data(), &key_.value); }

  PacketTag tag(Bytes packet, PacketNumber number) override {
    const Nonce nonce = make_nonce({}, {}, number);
    PacketTag tag;
    functions_.begin(&key_.value, &context_.value, nonce.data(), nonce.size());
    functions_.update(&key_.value, &context_.value, packet.data(), packet.size());
    functions_.finish(&key_.value, &context_.value, tag.data(), tag.size());
    return tag;
  }

 private:
  MacFunctions functions_;
  alignas(64) Wiped<gcm_key_data> key_;  // read with aligned vector instructions
  Wiped<gcm_context_data> context_;
};

}  // namespace

std::unique_ptr<PacketMac> make_ipsec_mb_mac() {
  IMB_MGR* manager = alloc_mb_mgr(0);
  if (manager == nullptr) return nullptr;
  IMB_ARCH architecture = IMB_ARCH_NONE;
  init_mb_mgr_auto(manager, &architecture);
  const MacFunctions functions{manager->gcm128_pre, manager->gmac128_init, manager->gmac128_update,
                               manager->gmac128_finalize};
  free_mb_mgr(manager);
  if (architecture == IMB_ARCH_NONE || architecture == IMB_ARCH_NOAESNI) return nullptr;
  return std::make_unique<IpsecMbMac>(functions);
}

}  // namespace sheaf::quic

#else

namespace sheaf::quic {

std::unique_ptr<PacketMac> make_ipsec_mb_mac() { return nullptr; }

}  // namespace sheaf::quic

#endif
