import type * as Moq from '@moq/net';
import type { FrameCounts } from '@sheaf/web-client/signed-media';

export interface PublishOptions {
  /** Codec of the picture, as WebCodecs names it */
  codec: string;
  /** Whether a tone is published, too */
  sound: boolean;
  /** Frames of the picture in a group; default: those of a second */
  groupFrames?: number;
}

/** What the pages of these tests put into `window.media`. */
export interface MediaPage {
  /** SHA-256 of certificates, in base64, of nodes other than the one that serves this page */
  certificates?: string[];
  /** The key of the publisher, as text */
  publicKey?: string;
  /** SHA-256 of each frame, by `track:group:index` */
  hashes: Record<string, string>;
  version?: string;
  closed?: boolean;
  error?: string;
  publish?: (url: string, name: string, options: PublishOptions) => Promise<void>;
  /** Frames that the player decoded */
  framesShown?: () => number;
  /** Parts of segments that the player loaded */
  partsLoaded?: () => number;
  /** Bytes of sound that the player decoded */
  soundDecoded?: () => number;
  /** Seconds between the player and the live edge of the playlist */
  latency?: () => number;
  watch?: (url: string, name: string) => Promise<void>;
  /** What the verification counted so far */
  counts?: FrameCounts;
  /** Groups that came whole, up to the end that their publisher signed */
  wholeGroups?: number;
  /** Does away with Ed25519 in WebCrypto, as in browsers that do not have it */
  withoutEd25519?: boolean;
  /** Takes a broadcast from one node, and publishes it at another one with forgeries. */
  forge?: (from: string, to: string, name: string) => Promise<void>;
  /** Frames that were forged, dropped or moved, as `track:group:index`, by what was done */
  forgeries?: Record<string, string[]>;
}

export function hexOf(bytes: ArrayBuffer): string {
  return [...new Uint8Array(bytes)].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** Notes the hash of a frame. */
export function noteFrame(page: MediaPage, track: string, group: number, index: number, payload: Uint8Array): void {
  void crypto.subtle.digest('SHA-256', payload.slice()).then((hash) => {
    page.hashes[`${track}:${group}:${index}`] = hexOf(hash);
  });
}

/** Options of a session to the node that serves this page, whose certificate is its own, or to others that the test named. */
export async function ownCertificate({ certificates = [] }: Pick<MediaPage, 'certificates'>): Promise<{
  serverCertificateHashes: { algorithm: 'sha-256'; value: string }[];
}> {
  const response = await fetch('/.well-known/sheaf/certificate-hashes');
  const { hashes } = (await response.json()) as { hashes: string[] };
  return { serverCertificateHashes: [...hashes, ...certificates].map((value) => ({ algorithm: 'sha-256', value })) };
}

/** Resolves once the broadcast is there. */
export async function announced(connection: Moq.Connection.Established, name: string): Promise<void> {
  const announcements = connection.announced();
  for (;;) {
    const next = await announcements.next();
    if (next === undefined) throw new Error('the announcements ended');
    if (next.path === name && next.active) return;
  }
}
