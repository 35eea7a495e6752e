import type { UserError } from '@sheaf/gateway';
import { z } from 'zod';
import type { Ended } from '../../process/run_program.js';
import { absentRow, faultRows, runTests } from './fault_rows.js';
import { finishRounds, type RoundSample } from './rounds.js';
import { addonSources, armsOf, parseSettings, runnerModule, type Runner } from './runner.js';

const optionsSchema = z.strictObject({
  /** Names of all faults that the tests know */
  faults: z.array(z.string()).min(1),
});
const settingsSchema = z.strictObject({ keys: z.enum(['per-path', 'shared']) });

/** A line that the tests print for each fault, before they judge any of them */
const rowSchema = z.object({
  fault: z.string(),
  keys: z.string(),
  failures: z.array(z.string()),
  bytesLost: z.number(),
  longestStallMs: z.number(),
  statedMs: z.number(),
  keyUpdates: z.number(),
  interrupted: z.string().optional(),
});
type Row = z.output<typeof rowSchema>;

const tests = ['path', 'shared'].map((keys) => `packages/cli/test/multi_end_faults_${keys}_keys.test.ts`);

/**
 * Breaks a site of a gateway and three backends, each a `sheaf up` of its own, in every way that the tests know, while a
 * client downloads from it. What a fault costs is a figure even if it fails the test; a run fails when a row is absent.
 */
export const multiEndFaults: Runner = {
  name: 'multi-end-faults',
  realTime: true,
  seeded: false,
  sources: [
    runnerModule('multi_end_faults.ts'),
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
    const measured = await finishRounds(context, {}, async () => samplesOf(await runTests(tests), arms, faults));
    return { ...measured, skipped: [] };
  },
};

/**
 * Returns what the tests measured for each fault with each kind of keys, whether they passed or not.
 * @throws UserError BENCH_FAILED when they printed nothing about one of them
 */
export function samplesOf(
  { output, failed }: Ended,
  arms: readonly { arm: string; keys: string }[],
  faults: readonly string[],
): RoundSample[] {
  const rows = faultRows(output, rowSchema);
  return arms.flatMap(({ arm, keys }) =>
    faults.map((fault) => {
      const row = rows.find((candidate) => candidate.fault === fault && candidate.keys === keys);
      if (!row) throw failed ?? absent(fault, keys);
      return { arm, at: { fault }, values: valuesOf(row) };
    }),
  );
}

const valuesOf = (row: Row): RoundSample['values'] => ({
  longest_stall_ms: row.longestStallMs,
  stated_ms: row.statedMs,
  stall_share: row.longestStallMs / row.statedMs,
  failed_requests: row.failures.length,
  lost_bytes: row.bytesLost,
  interruptions: row.interrupted === undefined ? 0 : 1,
  key_updates: row.keyUpdates,
});

const absent = (fault: string, keys: string): UserError =>
  absentRow(`'${fault}' with ${keys} keys`, 'packages/cli/test/support/multi_end_faults.ts');
