import { Readable } from 'node:stream';
import type { Exchange } from '../http/exchange.js';
import { respondStatus, sendBody, setHead } from '../http/respond.js';
import type { Group } from './model/group.js';
import type { Track } from './model/track.js';

/** Milliseconds for a publisher to begin a group that somebody asks for */
const maxWaitMs = 10_000;

/** Answers with the payloads of a group's frames as one file. The name is the group's number, or `newest`. */
export async function respondGroup(exchange: Exchange, track: Track, name: string): Promise<void> {
  const sequence = /^\d{1,15}$/.test(name) ? Number(name) : undefined;
  if (sequence === undefined && name !== 'newest') {
    respondStatus(exchange, 404);
    return;
  }
  const group = await groupOf(exchange, track, sequence);
  if (group === undefined) {
    respondStatus(exchange, 404);
    return;
  }
  const type = track.name.endsWith('.json') ? 'application/json' : 'application/octet-stream';
  const isSettled = sequence !== undefined && group.complete;
  setHead(exchange, 200, {
    'content-type': type,
    'cache-control': isSettled ? 'max-age=60' : 'no-cache',
    'sheaf-group': String(group.sequence),
  });
  if (exchange.request.method === 'HEAD') exchange.response.end();
  else await sendBody(exchange, Readable.from(payloads(group)));
}

/** Returns the group. Waits for the first one of a track that was only just opened. */
async function groupOf(exchange: Exchange, track: Track, sequence: number | undefined): Promise<Group | undefined> {
  await track.ready();
  const late = new Promise<true>((resolve) => {
    const timer = setTimeout(() => resolve(true), maxWaitMs).unref();
    exchange.whenAborted(() => {
      clearTimeout(timer);
      resolve(true);
    });
  });
  while (track.newest === undefined && track.open)
    if ((await Promise.race([track.changed(), late])) === true) return undefined;
  return sequence === undefined ? track.newest : track.group(sequence);
}

async function* payloads(group: Group): AsyncGenerator<Buffer> {
  for (let index = 0; ; index += 1) {
    const frame = await group.frame(index);
    if (frame === undefined) return;
    yield frame.payload;
  }
}
