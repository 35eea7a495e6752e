import { join } from 'node:path';
import { UserError } from '@sheaf/gateway';
import type { z } from 'zod';
import { runToEnd, type Ended } from '../../process/run_program.js';
import { nativeSources } from '../../process/workspace.js';

/** Runs tests, given by their files, whether they pass or not. */
export function runTests(tests: readonly string[]): Promise<Ended> {
  const root = join(nativeSources(), '..', '..');
  const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs');
  return runToEnd(process.execPath, [vitest, 'run', ...tests], { cwd: root });
}

/** Finds the lines about faults that tests print, each before it judges the fault. */
export const faultRows = <Row>(output: string, schema: z.ZodType<Row>): Row[] =>
  output
    .split('\n')
    .filter((line) => line.startsWith('{"fault":'))
    .map((line) => schema.parse(JSON.parse(line)));

/** Says that the tests printed nothing about a fault; `file` names all that they know. */
export const absentRow = (fault: string, file: string): UserError =>
  new UserError('BENCH_FAILED', `the tests printed no row about ${fault}`, {
    hint: `name the faults of ${file} in the options`,
  });
