import type { ResultTable } from '../experiment.js';

/** A mark that a comparison must reach, and what it reached */
export interface Mark {
  claim: string;
  required: number;
  measured: number;
  holds: boolean;
  why: string;
}

export const marksTable = (marks: readonly Mark[]): ResultTable => ({
  head: ['mark', 'required', 'measured', 'holds', 'why'],
  rows: marks.map(({ claim, required, measured, holds, why }) => [
    claim,
    String(required),
    String(measured),
    holds ? 'yes' : 'NO',
    why,
  ]),
  notes: [],
});

/** Returns the failure of an experiment that has to reach all marks, if it missed some. */
export function missedMarks(marks: readonly Mark[]): { failure?: string } {
  const missed = marks.filter(({ holds }) => !holds).map(({ claim, measured }) => `${claim}: ${measured}`);
  return missed.length > 0 ? { failure: missed.join('; ') } : {};
}
