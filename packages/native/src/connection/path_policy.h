#pragma once

#include <memory>

#include "connection/path_entry.h"
#include "recovery/sent_packets.h"
#include "wire/transport_parameters.h"

namespace sheaf::quic {

class ConnectionExtension;
class ReturnPaths;  // direct_return/own_recovery/

// The one seam for extensions that make some paths of a connection different (multi_end/): which
// frames a path admits, what a violation costs, what an abandoned path leaves. A connection without
// an extension has no policy. Nothing here is called for each packet: what packets need to know is
// in `PathEntry::rules` and `ConnectionExtension::set_frames_due`, which the policy sets.
class PathPolicy {
 public:
  virtual ~PathPolicy() = default;

  // --- frames -----------------------------------------------------------------------------------
  // Handles a frame of a kind in `PathRules::for_policy`. The receiver adds the frame's type to an
  // error.
  virtual TransportStatus on_frame(PathEntry&, const Frame&, Time) { return {}; }
  // Called while its frames are due, for a packet on a path that is not apart.
  virtual void write_frames(Writer&, SentPackets&) {}
  virtual void on_frame_lost(const SentFrame&) {}

  // The first packet on a path came to a client. Returns whether it makes the path
  // (`ConnectionExtension::make_path`); else the packet is dropped, as only clients open paths.
  virtual bool accept_path(PathEntry&, const AddressPair&, Time) { return false; }
  // Null: this node sends on every path that it does not hand over.
  virtual ReturnPaths* return_paths() { return nullptr; }

  // --- violations -------------------------------------------------------------------------------
  // The peer broke a rule on a path that is not apart. Returns true when others pay for it and the
  // connection goes on without the packet.
  virtual bool on_violation(const TransportError&, Time) { return false; }

  // --- abandoned paths --------------------------------------------------------------------------
  // Called once for each path, when `entry.abandonment` is set.
  virtual void on_abandoned(PathEntry& entry, Time now) = 0;
  // Returns the frame that tells the peer.
  virtual Frame abandonment_frame(const PathEntry& entry) const {
    return PathAbandonFrame{entry.id, entry.abandonment->error};
  }
  // Nothing refers to the path id any more.
  virtual void on_forgotten(PathId) {}

  // --- use of paths -----------------------------------------------------------------------------
  // Streams may be pinned to the path.
  virtual bool takes_streams(const PathEntry&) const { return true; }
  // This side may start a key update: every node that has the keys will hear of it.
  virtual bool may_update_keys() const { return true; }
  // Starts key updates of paths on which other nodes send. Returns whether there was any.
  virtual bool update_keys(Time) { return false; }
  virtual Time next_timeout() const { return k_never; }
  virtual void on_timeout(Time) {}
};

// Offers an extension in the handshake. Has no state: connections share it.
class PathPolicyFactory {
 public:
  // Adds the offer to the transport parameters of this side, which already offer multipath.
  virtual void offer(TransportParameters& own) const = 0;
  // Makes the connection's policy. Returns null when the peer did not accept the offer.
  virtual std::unique_ptr<PathPolicy> agree(ConnectionExtension connection,
                                            const TransportParameters& peer) const = 0;

 protected:
  ~PathPolicyFactory() = default;
};

}  // namespace sheaf::quic
