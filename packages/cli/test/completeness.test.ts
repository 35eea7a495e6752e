import { readFile } from 'node:fs/promises';
import { exitCodes } from '@sheaf/gateway';
import { describe, expect, it } from 'vitest';
import { sheaf } from './support/world.js';

describe('docs/reference/cli.md', async () => {
  const text = await readFile(new URL('../../../docs/reference/cli.md', import.meta.url), 'utf8');

  it.each([
    'up',
    'init',
    'check',
    'healthcheck',
    'deploy',
    'secrets',
    'schema',
    'status',
    'fetch',
    'cert',
    'keys',
    'backend',
    'reload',
    'dashboard',
    'demo',
    'link',
    'record',
    'bench',
    'evidence',
  ])('names every option of %s', async (command) => {
    const { out } = await sheaf([command, '--help']);
    const options = [...out.matchAll(/ --([a-z-]+) /g)]
      .map((match) => match[1])
      .filter((option) => option !== 'help' && option !== 'version');
    const section = text.split(/^## /m).find((part) => part.startsWith(`sheaf ${command}`)) ?? '';
    for (const option of options) expect(section).toContain(`--${option}`);
    expect(section).not.toBe('');
  });

  it('lists the exit codes', () => {
    for (const code of Object.values(exitCodes)) expect(text).toMatch(new RegExp(`^\\| ${code} \\|`, 'm'));
  });
});
