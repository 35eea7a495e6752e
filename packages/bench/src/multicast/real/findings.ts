import type { Mark } from '../../measure/marks.js';
import { isSamePlace, ratiosTo, type MulticastRow } from './rows.js';

/** Least ratio of a channel to the faster of the others */
const LEAST = 2;

/** Channels, and what each is compared with: both have authentication, or neither has. NORM has none. */
const comparisons = [
  { own: 'signed', words: 'with authentication on both sides' },
  { own: 'plain', words: 'without authentication on both sides' },
] as const;

const measures = [
  { key: 'goodput', figure: 'goodput_mbps', words: 'goodput' },
  { key: 'gbit_per_cpu_s', figure: 'gbit_per_cpu_s', words: 'goodput for each second of the processor' },
] as const;

/** Judges channels beside the faster of uftp and NORM, at each place. */
export function judgeMulticast(rows: readonly MulticastRow[]): Mark[] {
  return comparisons.flatMap(({ own, words }) =>
    rows
      .filter(({ arm }) => arm === own)
      .flatMap((row) => {
        const peers = rows.filter(
          (other) =>
            (other.sender === 'uftp' || other.sender === 'norm') &&
            isSamePlace(other, row) &&
            (other.authentication === 'none') === (row.authentication === 'none'),
        );
        return measures.flatMap(({ key, figure, words: what }): Mark[] => {
          const [best] = [...peers].sort((left, right) => right[figure] - left[figure]);
          if (!best) return [];
          const measured = ratiosTo(best, row)[key];
          return [
            {
              claim: `${row.receivers} receivers, loss ${row.loss_percent} %, ${words}: ${what}`,
              required: LEAST,
              measured,
              holds: measured >= LEAST,
              why: `${row[figure]} beside ${best[figure]} of ${best.sender}`,
            },
          ];
        });
      }),
  );
}
