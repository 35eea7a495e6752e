import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { addSession } from '../../../src/evidence/results/sessions.js';

test('an interrupted measurement keeps load, use by others and seconds of its parts', async () => {
  const directory = join(await mkdtemp(join(tmpdir(), 'sheaf-sessions-')), 'parts');
  const first = { load: 0.4, other_processors: 0.3, seconds: 30 };
  await expect(addSession(directory, first)).resolves.toEqual(first);
  await expect(addSession(directory, { load: 0.1, other_processors: 0.1, seconds: 10 })).resolves.toEqual({
    load: 0.4,
    other_processors: 0.25,
    seconds: 40,
  });
});

test('in virtual time only seconds are kept', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'sheaf-sessions-'));
  await addSession(directory, { seconds: 3 });
  await expect(addSession(directory, { seconds: 4 })).resolves.toEqual({ seconds: 7 });
});

test('a session that was cut off while it was written is left out, and the next one counts', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'sheaf-sessions-'));
  await addSession(directory, { seconds: 3 });
  await addSession(directory, { seconds: 5 });
  const file = join(directory, 'sessions.jsonl');
  await writeFile(file, (await readFile(file, 'utf8')).slice(0, -4));
  await expect(addSession(directory, { seconds: 4 })).resolves.toEqual({ seconds: 7 });
});
