import { UserError } from '@sheaf/gateway';
import { z } from 'zod';
import type { Ended } from '../../process/run_program.js';
import { absentRow, faultRows, runTests } from './fault_rows.js';
import { finishRounds, type RoundSample } from './rounds.js';
import { addonSources, armsOf, parseSettings, runnerModule, type Runner } from './runner.js';

const optionsSchema = z.strictObject({
  /** Names of all faults that the tests know */
  faults: z.array(z.string()).min(1),
});
const settingsSchema = z.strictObject({});

/** A line that the tests print for each fault, before they judge it */
const rowSchema = z.object({
  fault: z.string(),
  delivery: z.literal('return'),
  requests: z.number(),
  failures: z.array(z.string()),
  bytesLost: z.number(),
  longestStallMs: z.number(),
  statedMs: z.number(),
  keyUpdates: z.number(),
  /** Requests that failed where the fault permits it */
  refused: z.number(),
  returned: z.number(),
  fallbacks: z.record(z.string(), z.number()),
  interrupted: z.string().optional(),
});
type Row = z.output<typeof rowSchema>;

const tests = ['packages/cli/test/direct_return_faults.test.ts'];

/**
 * Breaks a site whose three backends send from the address of the gateway, each a `sheaf up` of its own, in every way that
 * the tests know, while clients download. What a fault costs is a figure even if it fails the test; a run fails when a row
 * is absent.
 */
export const directReturnFaults: Runner = {
  name: 'direct-return-faults',
  realTime: true,
  seeded: false,
  sources: [
    runnerModule('direct_return_faults.ts'),
    ...addonSources,
    'packages/native/lib',
    'packages/gateway/src',
    'packages/cli/src',
    'packages/cli/test/support',
    ...tests,
  ],
  settings: (setup, arm) => parseSettings(setup, arm, { options: optionsSchema, settings: settingsSchema }),
  async run(setup, context) {
    const { faults } = optionsSchema.parse(setup.options);
    const arms = armsOf(setup, settingsSchema);
    const measured = await finishRounds(context, {}, async () => {
      const ended = await runTests(tests);
      return arms.flatMap(({ arm }) => returnFaultSamples(ended, arm, faults));
    });
    return { ...measured, skipped: [] };
  },
};

/**
 * Returns what the tests measured for each fault, whether they passed or not.
 * @throws UserError BENCH_FAILED when they printed nothing about one of them, or a row about another one
 */
export function returnFaultSamples({ output, failed }: Ended, arm: string, faults: readonly string[]): RoundSample[] {
  const rows = faultRows(output, rowSchema);
  const unknown = rows.find(({ fault }) => !faults.includes(fault));
  if (unknown) throw new UserError('BENCH_FAILED', `the tests know a fault that is no option: '${unknown.fault}'`);
  return faults.map((fault) => {
    const row = rows.find((candidate) => candidate.fault === fault);
    if (!row) throw failed ?? absentRow(`'${fault}'`, 'packages/cli/test/support/direct_return_faults.ts');
    return { arm, at: { fault }, values: valuesOf(row) };
  });
}

const valuesOf = (row: Row): RoundSample['values'] => ({
  longest_stall_ms: row.longestStallMs,
  stated_ms: row.statedMs,
  stall_share: row.longestStallMs / row.statedMs,
  requests: row.requests,
  failed_requests: row.failures.length,
  permitted_failures: row.refused,
  wrong_bytes: row.bytesLost,
  interruptions: row.interrupted === undefined ? 0 : 1,
  key_updates: row.keyUpdates,
  returned: row.returned,
  fell_back: Object.values(row.fallbacks).reduce((sum, count) => sum + count, 0),
});
