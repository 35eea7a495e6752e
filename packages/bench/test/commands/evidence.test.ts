import { PassThrough } from 'node:stream';
import { processWorld, run } from '@sheaf/cli';
import { expect, test } from 'vitest';

/** Runs `sheaf evidence …` and returns what it printed. */
async function evidence(...words: string[]): Promise<{ code: number; out: string; errors: string }> {
  const stdout = new PassThrough();
  const stderr = new PassThrough();
  const code = await run({ ...processWorld(), args: ['evidence', ...words], stdout, stderr });
  const textOf = (stream: PassThrough): string => String((stream.read() as Buffer | null) ?? '');
  return { code, out: textOf(stdout), errors: textOf(stderr) };
}

test('list --json has all 38 artefacts, each with state and verdict', async () => {
  const { code, out } = await evidence('list', '--json');
  expect(code).toBe(0);
  const entries = JSON.parse(out) as { id: string; state: string; verdict: string }[];
  expect(entries.filter(({ id }) => !id.startsWith('own/'))).toHaveLength(38);
  expect(entries.find(({ id }) => id === 'tunnels/table-3')).toMatchObject({ verdict: 'cannot be rerun' });
  expect(entries.filter(({ state }) => state === 'not built').every(({ verdict }) => verdict === 'not built')).toBe(
    true,
  );
});

test.each([
  [['list', '--quick'], '`evidence list` does not take --quick'],
  [['report', '--check'], '`evidence report` does not take --check'],
  [['report', 'page-loads'], '`evidence report` is about all artefacts'],
  [['run', 'page-loads/figure-66'], "there is no artefact 'page-loads/figure-66'"],
])('%j is refused with code 2', async (words, message) => {
  const { code, errors } = await evidence(...words);
  expect(code).toBe(2);
  expect(errors).toContain(message);
});
