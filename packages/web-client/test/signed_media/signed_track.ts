import {
  createSigner,
  createVerify,
  signatureTrack,
  TrackSigner,
  TrackVerifier,
} from '../../src/signed_media/index.js';
import type { FrameCounts, SignTrackOptions, VerifiedEvent, VerifyTrackOptions } from '../../src/signed_media/index.js';
import { framesOf, MemoryTrack, sourceOf, Time, type Frame } from './memory_track.js';

export const signer = await createSigner(new Uint8Array(32).fill(7));
export const verify = await createVerify(signer.publicKey);
/** How long tests wait for what has to happen, on a busy machine */
export const patience = { timeout: 30_000 };
export const broadcast = 'studio/clock';
export const noFrames: FrameCounts = { verified: 0, forged: 0, unsigned: 0, missing: 0, refusedStatements: 0 };

/** A frame whose payload is this text, or one byte of this value */
export function frameOf(content: string | number, milliseconds: number): Frame {
  const payload = typeof content === 'string' ? new TextEncoder().encode(content) : Uint8Array.of(content);
  return { payload, timestamp: new Time(milliseconds) };
}

/** A frame with its bytes as text */
export function textOf({ payload }: { readonly payload: Uint8Array }): string {
  return new TextDecoder().decode(payload);
}

/** The groups of a track and of its signatures, as a publisher sends them */
export interface Published {
  readonly media: Frame[][];
  readonly statements: Frame[][];
}

/** Signs groups of frames. Each frame has a statement of its own, and so has the end when it does not come with a frame. */
export async function publish(
  groups: readonly (readonly Frame[])[],
  options: Partial<SignTrackOptions<Time>> = {},
): Promise<Published> {
  const [media, signatures] = [new MemoryTrack('video'), new MemoryTrack(signatureTrack('video'))];
  const track = new TrackSigner({ signer, broadcast, run: 1, media, signatures, ...options });
  const published: Published = { media: [], statements: [] };
  for (const frames of groups) {
    const group = track.appendGroup();
    const [sentFrames, sentStatements] = [await media.recvGroup(), await signatures.recvGroup()];
    const statements: Frame[] = [];
    for (const frame of frames) {
      group.writeFrame(frame);
      statements.push((await sentStatements!.readFrame())!);
    }
    await group.close();
    published.media.push(await framesOf(sentFrames!));
    published.statements.push([...statements, ...(await framesOf(sentStatements!))]);
  }
  return published;
}

/** A group as an edge delivers it */
export interface DeliveredGroup {
  readonly sequence: number;
  readonly frames?: readonly Frame[];
  readonly statements?: readonly Frame[];
}

/** Delivers groups to a verifier, all at once, and ends the tracks. Returns what passed. */
export async function deliver(groups: readonly DeliveredGroup[], options: Partial<VerifyTrackOptions> = {}) {
  const [media, signatures] = [new MemoryTrack('video'), new MemoryTrack(signatureTrack('video'))];
  const verifier = new TrackVerifier({
    ...{ verify, broadcast, track: 'video', source: sourceOf(media, signatures) },
    ...options,
  });
  for (const [track, part] of [
    [media, 'frames'],
    [signatures, 'statements'],
  ] as const) {
    for (const { sequence, [part]: sent } of groups) {
      if (sent === undefined) continue;
      const group = track.insertGroup(sequence);
      for (const frame of sent) group.writeFrame(frame);
      group.close();
    }
    track.close();
  }
  const events: VerifiedEvent[] = [];
  for (let event = await verifier.next(); event; event = await verifier.next()) events.push(event);
  return { events, counts: verifier.counts, frames: events.filter((event) => event.kind === 'frame') };
}
