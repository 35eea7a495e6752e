import { Readable } from 'node:stream';
import type { Exchange } from '../http/exchange.js';
import { respondStatus, sendBody, setHead } from '../http/respond.js';
import { withinPatience } from './hls/patience.js';
import { systemClock } from './model/clock.js';
import type { Group } from './model/group.js';
import type { Track } from './model/track.js';

/** Header with the number of a group */
export const groupHeader = 'sheaf-group';

/** Answers with the payloads of a group's frames as one file. The name is the group's number, or `newest`. */
export async function respondGroup(exchange: Exchange, track: Track, name: string): Promise<void> {
  const sequence = /^\d{1,15}$/.test(name) ? Number(name) : undefined;
  if (sequence === undefined && name !== 'newest') {
    respondStatus(exchange, 404);
    return;
  }
  await track.whileRead(() => respondFile(exchange, track, sequence));
}

async function respondFile(exchange: Exchange, track: Track, sequence: number | undefined): Promise<void> {
  const group = await withinPatience(exchange, systemClock, (signal) => groupOf(track, sequence, signal));
  if (group === undefined) {
    respondStatus(exchange, 404);
    return;
  }
  const type = track.name.endsWith('.json') ? 'application/json' : 'application/octet-stream';
  setHead(exchange, 200, {
    'content-type': type,
    // A publisher that comes back gives other bytes to the same number.
    'cache-control': 'no-cache',
    [groupHeader]: String(group.sequence),
  });
  if (exchange.request.method === 'HEAD') exchange.response.end();
  else await sendBody(exchange, Readable.from(payloads(group, exchange.signal)));
}

/** Returns the group. Waits for the first one of a track that was only just opened. */
async function groupOf(track: Track, sequence: number | undefined, signal: AbortSignal): Promise<Group | undefined> {
  await track.ready(signal);
  while (track.newest === undefined && track.open && !signal.aborted) await track.changed(signal);
  return sequence === undefined ? track.newest : track.group(sequence);
}

async function* payloads(group: Group, signal: AbortSignal): AsyncGenerator<Buffer> {
  for (let index = 0; ; index += 1) {
    const frame = await group.frame(index, signal);
    if (frame === undefined) return;
    yield frame.payload;
  }
}
