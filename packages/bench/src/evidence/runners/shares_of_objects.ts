import { mean, quantile } from '../../measure/statistics.js';
import type { Run } from '../../pages/simulation/run_record.js';
import type { ResultCell } from '../results/result.js';
import { cellsAt } from './cells.js';

/**
 * Returns a cell for each share in percent: the time in milliseconds until this share of a load's objects is complete, as
 * a mean over the clients of a run. Together they are the distribution over objects. At 100 it is the page load time.
 */
export function cellsOfShares(
  { arm, at }: Pick<ResultCell, 'arm' | 'at'>,
  runs: readonly Run[],
  shares: readonly number[],
): ResultCell[] {
  const inOrder = runs.map(({ clients }) =>
    clients.map(({ done_ms: doneMs }) => [...doneMs].sort((left, right) => left - right)),
  );
  return shares.flatMap((share) =>
    cellsAt({ arm, at: { ...at, share } }, inOrder, {
      share_ms: (loads) => mean(loads.map((times) => quantile(times, share / 100))),
    }),
  );
}
