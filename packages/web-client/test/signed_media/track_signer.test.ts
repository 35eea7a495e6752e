import { describe, expect, it } from 'vitest';
import { signatureTrack, TrackSigner, type Signer } from '../../src/signed_media/index.js';
import { openStatement } from '../../src/signed_media/statement.js';
import { framesOf, MemoryTrack, type Frame } from './memory_track.js';
import { broadcast, frameOf, patience, signer, verify } from './signed_track.js';

/** A publisher whose signatures are made when the test says so */
function start(sign: Signer['sign'] = signer.sign) {
  const [media, signatures] = [new MemoryTrack('video'), new MemoryTrack(signatureTrack('video'))];
  const options = { broadcast, run: 1, media, signatures, signer: { ...signer, sign } };
  return { media, signatures, track: new TrackSigner(options) };
}

async function opened(statements: readonly Frame[]) {
  const name = { broadcast, track: 'video', group: 0, timescale: 1_000 };
  return Promise.all(statements.map(async ({ payload }) => openStatement(verify, name, payload)));
}

describe('a group that is signed', () => {
  it('is sent at once, and its frames share signatures when they come faster than these are made', async () => {
    const pending: (() => void)[] = [];
    const { media, signatures, track } = start(async (message) => {
      await new Promise<void>((resolve) => pending.push(resolve));
      return signer.sign(message);
    });
    const group = track.appendGroup();
    const received = (await media.recvGroup())!;
    for (let index = 0; index < 4; index += 1) group.writeFrame(frameOf(index, index * 40));
    expect(received.unread).toBe(4);
    const closed = group.close();
    const signed = (await signatures.recvGroup())!;
    for (let flight = 0; flight < 2; flight += 1) {
      await expect.poll(() => pending.length, patience).toBe(1);
      pending.shift()!();
    }
    await closed;
    const statements = await opened(await framesOf(signed));
    expect(statements.map((each) => [each?.first, each?.frames.length, each?.last])).toEqual([
      [0, 1, false],
      [1, 3, true],
    ]);
  });

  it('has its end signed, also when no frame comes with it', async () => {
    const { signatures, track } = start();
    const group = track.appendGroup();
    const signed = (await signatures.recvGroup())!;
    group.writeFrame(frameOf('key', 0));
    const first = (await signed.readFrame())!;
    await group.close();
    const statements = await opened([first, ...(await framesOf(signed))]);
    expect(statements.map((each) => [each?.first, each?.frames.length, each?.last])).toEqual([
      [0, 1, false],
      [1, 0, true],
    ]);
  });

  it('has no signature when it has no frame', async () => {
    const { signatures, track } = start();
    await track.appendGroup().close();
    expect(await framesOf((await signatures.recvGroup())!)).toEqual([]);
  });

  it('is sent on when it cannot be signed, and says why', async () => {
    const { media, signatures, track } = start(() => Promise.reject(new Error('the key is gone')));
    const group = track.appendGroup();
    group.writeFrame(frameOf('key', 0));
    const signed = (await signatures.recvGroup())!;
    await expect(signed.readFrame()).rejects.toThrow('the key is gone');
    group.writeFrame(frameOf('a', 40));
    await expect(group.close()).rejects.toThrow('the key is gone');
    expect(await framesOf((await media.recvGroup())!)).toHaveLength(2);
  });
});

describe('a track that is signed', () => {
  it('refuses a track of signatures with another name', () => {
    const [media, signatures] = [new MemoryTrack('video'), new MemoryTrack('audio.sig')];
    expect(() => new TrackSigner({ signer, broadcast, run: 1, media, signatures })).toThrow('belong to video.sig');
  });

  it('refuses groups whose signatures would have other numbers', () => {
    const { media, track } = start();
    media.appendGroup();
    expect(() => track.appendGroup()).toThrow('the group 1 would have its signatures in 0');
  });
});
