/** Exports how a publisher signs live media, and how a viewer verifies it behind a node that it does not trust. */
export { createSigner, createVerify, formatPublicKey, parsePublicKey, type Signer, type Verify } from './ed25519.js';
export { forwardVerified, type MessageTarget, type VerifierMessage } from './forward_verified.js';
export { type FrameCounts } from './group_matcher.js';
export { TrackSigner, type SignedGroup, type SignTrackOptions } from './track_signer.js';
export { TrackVerifier, type VerifiedEvent, type VerifyTrackOptions } from './track_verifier.js';
export { signatureTrack } from './tracks.js';
