/** Runs in a worker: watches a broadcast, and gives its page what the publisher signed. */
import * as Moq from '@moq/net';
import {
  createVerify,
  forwardVerified,
  parsePublicKey,
  TrackVerifier,
  type MessageTarget,
  type VerifierMessage,
  type VerifyTrackOptions,
} from '@sheaf/web-client/signed-media';
import { announced, type MediaPage } from './media_page.js';

/** What the page tells its worker */
export interface Order extends Pick<MediaPage, 'withoutEd25519'> {
  url: string;
  name: string;
  publicKey: string;
  webtransport: Pick<Moq.Connection.WebTransportProps, 'serverCertificateHashes'>;
}

/** What the worker tells its page */
export type WorkerMessage = VerifierMessage | { kind: 'codec'; codec: string } | { kind: 'failed'; error: string };

const scope = self as unknown as MessageTarget & {
  onmessage: (message: { data: Order }) => void;
  postMessage(message: WorkerMessage): void;
};

scope.onmessage = ({ data }) => {
  if (data.withoutEd25519 === true)
    crypto.subtle.importKey = () => Promise.reject(new DOMException('', 'NotSupportedError'));
  watch(data).catch((error: unknown) => scope.postMessage({ kind: 'failed', error: String(error) }));
};

async function watch({ url, name, webtransport, publicKey }: Order): Promise<void> {
  const connection = await Moq.Connection.connect(new URL(url), { websocket: { enabled: false }, webtransport });
  await announced(connection, name);
  const verify = await createVerify(parsePublicKey(publicKey));
  const options = {
    verify,
    broadcast: name,
    source: connection.consume(Moq.Path.from(name)),
    // Nothing is skipped on a slow machine.
    subscription: { priority: 60, latencyMax: 60_000 },
  };
  scope.postMessage({ kind: 'codec', codec: await codecOf(options) });
  await forwardVerified(new TrackVerifier({ ...options, track: 'video' }), scope);
}

/** Returns what the catalogue says. It is signed as well: an edge could name another codec. */
async function codecOf(options: Omit<VerifyTrackOptions, 'track'>): Promise<string> {
  const verifier = new TrackVerifier({ ...options, track: 'catalog.json' });
  const event = await verifier.next();
  verifier.close();
  if (event?.kind !== 'frame') throw new Error('there is no catalogue');
  const catalog = JSON.parse(new TextDecoder().decode(event.payload)) as {
    video: { renditions: { video: { codec: string } } };
  };
  return catalog.video.renditions.video.codec;
}
