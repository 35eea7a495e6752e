#include "crypto/ipsec_mb_hasher.h"

#if SHEAF_HAVE_IPSEC_MB

#include <intel-ipsec-mb.h>

#include <cstdlib>

namespace sheaf::quic {
namespace {

struct FreeManager {
  void operator()(IMB_MGR* manager) const { free_mb_mgr(manager); }
};
using Manager = std::unique_ptr<IMB_MGR, FreeManager>;

// The manager (200 KB) has the lanes, so each hasher has its own.
class IpsecMbHasher final : public BatchHasher {
 public:
  explicit IpsecMbHasher(Manager manager) : manager_(std::move(manager)) {}

  // The library takes a job when it has a lane for it, and hands back those that are done. Flushing
  // hands back the rest.
  void hash(std::span<const Bytes> messages, std::span<Sha256Digest> digests) override {
    std::size_t done = 0;
    for (std::size_t i = 0; i < messages.size(); ++i) {
      prepare(*IMB_GET_NEXT_JOB(manager_.get()), messages[i], digests[i]);
      done += completed(IMB_SUBMIT_JOB(manager_.get()));
    }
    while (done < messages.size()) {
      const std::size_t more = completed(IMB_FLUSH_JOB(manager_.get()));
      if (more == 0) std::abort();  // a job that IPsec-MB does not take is a bug of ours
      done += more;
    }
  }

 private:
  static void prepare(IMB_JOB& job, Bytes message, Sha256Digest& digest) {
    job.cipher_mode = IMB_CIPHER_NULL;
    job.cipher_direction = IMB_DIR_ENCRYPT;
    job.chain_order = IMB_ORDER_HASH_CIPHER;
    job.hash_alg = IMB_AUTH_SHA_256;
    // The library wants an address, even of nothing.
    job.src = message.empty() ? digest.data() : message.data();
    job.hash_start_src_offset_in_bytes = 0;
    job.msg_len_to_hash_in_bytes = message.size();
    job.auth_tag_output = digest.data();
    job.auth_tag_output_len_in_bytes = digest.size();
  }

  std::size_t completed(const IMB_JOB* job) const {
    std::size_t count = 0;
    for (; job != nullptr; job = IMB_GET_COMPLETED_JOB(manager_.get())) {
      if (job->status != IMB_STATUS_COMPLETED) return 0;
      ++count;
    }
    return count;
  }

  Manager manager_;
};

}  // namespace

std::unique_ptr<BatchHasher> make_ipsec_mb_hasher() {
  Manager manager(alloc_mb_mgr(0));
  if (!manager) return nullptr;
  IMB_ARCH architecture = IMB_ARCH_NONE;
  init_mb_mgr_auto(manager.get(), &architecture);
  if (architecture == IMB_ARCH_NONE || architecture == IMB_ARCH_NOAESNI) return nullptr;
  return std::make_unique<IpsecMbHasher>(std::move(manager));
}

}  // namespace sheaf::quic

#else

namespace sheaf::quic {

std::unique_ptr<BatchHasher> make_ipsec_mb_hasher() { return nullptr; }

}  // namespace sheaf::quic

#endif
