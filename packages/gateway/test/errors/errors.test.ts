import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { errorCodes } from '../../src/errors/error_codes.js';
import { exitCodes } from '../../src/errors/exit_codes.js';
import { UserError } from '../../src/errors/user_error.js';

describe('docs/reference/errors.md', async () => {
  const text = await readFile(new URL('../../../../docs/reference/errors.md', import.meta.url), 'utf8');
  const rows = [...text.matchAll(/^\| `([A-Z_]+)` \| (\d+) \| (.*) \|$/gm)].map((row) => [
    row[1],
    Number(row[2]),
    row[3],
  ]);

  it('lists every error code with its exit code and meaning, and no other', () => {
    expect(rows).toEqual(Object.entries(errorCodes).map(([code, { exitCode, meaning }]) => [code, exitCode, meaning]));
  });

  it('lists every exit code', () => {
    const listed = [...text.matchAll(/^\| (\d+) \|/gm)].map((row) => Number(row[1]));
    expect(listed).toEqual(Object.values(exitCodes));
  });
});

describe('UserError', () => {
  it('shows cause, place and fix', () => {
    const error = new UserError('PORT_TAKEN', 'UDP 127.0.0.1:1 is taken', {
      place: ' --> a.yaml:1:1',
      hint: 'choose another',
    });
    expect(error.render()).toBe('error[PORT_TAKEN]: UDP 127.0.0.1:1 is taken\n --> a.yaml:1:1\n  hint: choose another');
    expect(error.exitCode).toBe(3);
  });
});
