import type { Exchange } from '../../http/exchange.js';
import type { Clock } from '../model/clock.js';

/** Longest wait for something that has not come yet, in milliseconds */
const maxWaitMs = 10_000;

/** Resolves with what `work` does, or with undefined when the client has left or waited too long, which aborts the signal. */
export async function withinPatience<Value>(
  exchange: Exchange,
  clock: Clock,
  work: (signal: AbortSignal) => Promise<Value>,
): Promise<Value | undefined> {
  const over = new AbortController();
  const stop = (): void => over.abort();
  const revokes = [clock.after(maxWaitMs, stop), exchange.whenAborted(stop)];
  try {
    const value = await work(over.signal);
    return over.signal.aborted ? undefined : value;
  } catch (error) {
    if (over.signal.aborted) return undefined;
    throw error;
  } finally {
    for (const revoke of revokes) revoke();
  }
}
