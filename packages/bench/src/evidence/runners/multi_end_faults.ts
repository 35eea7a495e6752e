import { join } from 'node:path';
import { z } from 'zod';
import { runProgram } from '../../process/run_program.js';
import { nativeSources } from '../../process/workspace.js';
import { finishRounds, type RoundSample } from './rounds.js';
import { parseSettings, runnerSources, type Runner } from './runner.js';

const optionsSchema = z.strictObject({});
const settingsSchema = z.strictObject({ keys: z.enum(['per-path', 'shared']) });

/** A line that the tests print for each fault */
const rowSchema = z.object({
  fault: z.string(),
  keys: z.string(),
  failed: z.number(),
  bytesLost: z.number(),
  longestStallMs: z.number(),
});

const tests = ['path', 'shared'].map((keys) => `packages/cli/test/multi_end_faults_${keys}_keys.test.ts`);

/**
 * Breaks a site of a gateway and three backends, each a `sheaf up` of its own, in every way that the tests know, while a
 * client downloads from it. A run fails when one of these tests does.
 */
export const multiEndFaults: Runner = {
  name: 'multi-end-faults',
  realTime: true,
  seeded: false,
  sources: [
    ...runnerSources('multi_end_faults.ts'),
    'packages/native/src',
    'packages/native/lib',
    'packages/gateway/src',
    'packages/cli/src',
    'packages/cli/test/support',
    ...tests,
  ],
  settings: (setup, arm) => parseSettings(setup, arm, { options: optionsSchema, settings: settingsSchema }),
  async run(setup, context) {
    const root = join(nativeSources(), '..', '..');
    const arms = new Map<string, string>(
      Object.entries(setup.arms).map(([arm, { settings }]) => [settingsSchema.parse(settings).keys, arm]),
    );
    const cells = await finishRounds(context, async () => {
      const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs');
      const output = await runProgram(process.execPath, [vitest, 'run', ...tests], { cwd: root });
      return parseFaults(output).flatMap(({ fault, keys, longestStallMs, failed, bytesLost }): RoundSample[] => {
        const arm = arms.get(keys);
        const values = { longest_stall_ms: longestStallMs, failed_requests: failed, lost_bytes: bytesLost };
        return arm === undefined ? [] : [{ arm, at: { fault }, values }];
      });
    });
    return { cells, versions: {}, skipped: [] };
  },
};

/** Finds the lines about faults in the output of the tests. */
export const parseFaults = (output: string): z.output<typeof rowSchema>[] =>
  output
    .split('\n')
    .filter((line) => line.startsWith('{"fault":'))
    .map((line) => rowSchema.parse(JSON.parse(line)));
