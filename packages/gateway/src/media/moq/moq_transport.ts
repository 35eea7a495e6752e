import type { ReadableStream } from 'node:stream/web';
import type { WebTransportBidirectionalStream, WebTransportSession } from '@sheaf/native';

export type MoqBidirectionalStream = Omit<WebTransportBidirectionalStream, 'setExpectedBytes'>;

/** What moq-lite needs of a session */
export interface MoqTransport extends Pick<
  WebTransportSession,
  'closed' | 'close' | 'incomingUnidirectionalStreams' | 'createUnidirectionalStream'
> {
  readonly incomingBidirectionalStreams: ReadableStream<MoqBidirectionalStream>;
  createBidirectionalStream(options: { waitUntilAvailable: true }): Promise<MoqBidirectionalStream>;
}
