export interface PublishOptions {
  /** Codec of the picture, as WebCodecs names it */
  codec: string;
  /** Whether a tone is published, too */
  sound: boolean;
}

/** What the pages of these tests put into `window.media`. */
export interface MediaPage {
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

/** Options of a session to the gateway that serves this page, whose certificate is its own. */
export async function ownCertificate(): Promise<{
  serverCertificateHashes: { algorithm: 'sha-256'; value: string }[];
}> {
  const answer = await fetch('/.well-known/sheaf/certificate-hashes');
  const { hashes } = (await answer.json()) as { hashes: string[] };
  return { serverCertificateHashes: hashes.map((value) => ({ algorithm: 'sha-256', value })) };
}
