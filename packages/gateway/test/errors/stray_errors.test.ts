import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { temporaryDirectory } from '../support/temporary_directory.js';

const program = join(import.meta.dirname, '..', 'support', 'stray_errors.mjs');

describe('errors that nobody catches and no session is to blame for', () => {
  it('are logged and counted, and the gateway serves on', async () => {
    const directory = await temporaryDirectory();
    const file = join(directory, 'sheaf.yaml');
    await writeFile(
      file,
      'listen: 127.0.0.1:0\nadmin: 127.0.0.1:0\nlog: { file: gateway.log }\nroutes: [{ path: /echo, webtransport: echo }]\n',
    );
    const { stdout } = await promisify(execFile)(process.execPath, [program, file]);
    expect(JSON.parse(stdout)).toEqual({
      state: 'serving',
      counted: ['sheaf_stray_errors_total{kind="rejection"} 1', 'sheaf_stray_errors_total{kind="exception"} 1'],
      listeners: 0,
    });
    const lines = (await readFile(join(directory, 'gateway.log'), 'utf8'))
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(lines.filter(({ msg }) => msg === 'stray error')).toMatchObject([
      { level: 50, kind: 'rejection', err: { message: 'a rejection of nobody' } },
      { level: 50, kind: 'exception', err: { message: 'an exception of nobody' } },
    ]);
  });
});
