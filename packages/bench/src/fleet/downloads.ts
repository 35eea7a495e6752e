import { setTimeout as sleep } from 'node:timers/promises';
import { clientPatienceMs, type Connection } from './connections.js';

export interface DownloadCounts {
  /** Bytes that arrived, and were as they should be */
  bytes: number;
  /** Bytes that arrived wrong, or never though the download ended */
  lost: number;
  /** Bytes that arrived again after a download was resumed */
  repeated: number;
  /** Downloads that went on where they had stopped */
  resumed: number;
}

/** How far a download is, over all its attempts */
export interface DownloadState {
  offset: number;
  etag?: string;
}

const chunkBytes = 65_536;
/** Pause after each chunk in milliseconds, so that events meet downloads on their way */
const pauseMs = 30;

/** Goes on with a download, and compares each byte. Rejects when it stops on its way; `state` says then where. */
export async function downloadOnce(
  connection: Connection,
  content: Buffer,
  state: DownloadState,
  counts: () => DownloadCounts,
): Promise<void> {
  const patience = new AbortController();
  const timer = setTimeout(() => patience.abort(), clientPatienceMs);
  try {
    const resumes = state.offset > 0 && state.etag !== undefined;
    const headers = resumes ? { range: `bytes=${state.offset}-`, 'if-range': state.etag! } : {};
    const response = await connection.request({ path: '/large', headers, signal: patience.signal });
    accept(response, state, counts(), content.length);
    const buffer = Buffer.alloc(chunkBytes);
    for (;;) {
      const read = await response.readInto(buffer);
      timer.refresh();
      if (read === 0) break;
      take(buffer.subarray(0, read), content, state, counts());
      await sleep(pauseMs);
    }
    counts().lost += content.length - state.offset;
  } finally {
    clearTimeout(timer);
  }
}

/** Looks where the response begins. RFC 9110 §13.1.5: the whole comes when the tag does not hold. */
function accept(
  { status, headers }: { status: number; headers: Record<string, string | string[] | undefined> },
  state: DownloadState,
  counts: DownloadCounts,
  total: number,
): void {
  const etag = String(headers['etag'] ?? '');
  if (status === 206) {
    const expected = `bytes ${state.offset}-${total - 1}/${total}`;
    if (headers['content-range'] !== expected) throw new Error(`${String(headers['content-range'])} is no ${expected}`);
    counts.resumed += 1;
    return;
  }
  if (status !== 200) throw new Error(`status ${status}`);
  if (!etag.startsWith('"')) throw new Error(`the entity tag ${etag} is not strong`);
  counts.repeated += state.offset;
  state.offset = 0;
  state.etag = etag;
}

function take(part: Buffer, content: Buffer, state: DownloadState, counts: DownloadCounts): void {
  const expected = content.subarray(state.offset, state.offset + part.length);
  if (part.equals(expected)) counts.bytes += part.length;
  else counts.lost += part.length;
  state.offset += part.length;
}
