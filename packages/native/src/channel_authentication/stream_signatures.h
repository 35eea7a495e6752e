#pragma once

#include <vector>

#include "channel_authentication/integrity_frame.h"
#include "crypto/batch_hasher.h"
#include "crypto/channel_secret.h"
#include "crypto/ed25519.h"

namespace sheaf::quic {

// Scheme MC_S of MCQUIC (section 4.3): one signature for each finished stream. Packets themselves
// are not proven (scheme `none`), so that one forged frame spoils a stream. For comparison.

// Running hashes of the streams that are open, in the order of their bytes
class StreamHashes {
 public:
  explicit StreamHashes(std::size_t max_streams) : streams_(max_streams) {}

  // Returns false when too many streams are open.
  bool update(std::uint64_t stream, Bytes bytes);
  // Returns what is signed of a stream, and forgets the stream. `length` becomes its length.
  // Returns nothing for a stream without bytes.
  using Text = std::array<std::uint8_t, 20 + k_channel_id_length + 8 + 8 + sizeof(Sha256Digest)>;
  std::optional<Text> finish(const ChannelId& channel, std::uint64_t stream, std::uint64_t& length);

 private:
  struct Stream {
    bool open = false;
    std::uint64_t id = 0;
    std::uint64_t length = 0;
    RunningHash hash;
  };
  Stream* find(std::uint64_t id);

  std::vector<Stream> streams_;
};

class StreamSigner {
 public:
  StreamSigner(const ChannelId& channel, const SigningKey& key, std::size_t max_streams)
      : channel_(channel), key_(key), hashes_(max_streams) {}
  bool update(std::uint64_t stream, Bytes bytes) { return hashes_.update(stream, bytes); }
  // Writes the frame that goes behind the stream. Returns 0 when it does not fit, or for a stream
  // without bytes.
  std::size_t finish(std::uint64_t stream, MutableBytes room);

 private:
  ChannelId channel_;
  const SigningKey& key_;
  StreamHashes hashes_;
};

class StreamVerifier {
 public:
  StreamVerifier(const ChannelId& channel, const Ed25519PublicKey& source, std::size_t max_streams)
      : channel_(channel), source_(source), hashes_(max_streams) {}
  bool update(std::uint64_t stream, Bytes bytes) { return hashes_.update(stream, bytes); }
  // Called once all bytes of the stream were given. Returns whether they are the source's.
  bool finish(const StreamSignatureFrame& frame);

 private:
  ChannelId channel_;
  VerifyingKey source_;
  StreamHashes hashes_;
};

}  // namespace sheaf::quic
