import { readFile } from 'node:fs/promises';
import { benchOptions } from '@sheaf/bench';
import { exitCodes } from '@sheaf/gateway';
import { describe, expect, it } from 'vitest';
import { sheaf } from './support/world.js';

describe('docs/reference/cli.md', async () => {
  const text = await readFile(new URL('../../../docs/reference/cli.md', import.meta.url), 'utf8');

  it.each([
    'up',
    'init',
    'check',
    'schema',
    'status',
    'fetch',
    'cert',
    'keys',
    'backend',
    'demo',
    'link',
    'record',
    'bench',
  ])('names every option of %s', async (command) => {
    const { out } = await sheaf([command, '--help']);
    const options = [...out.matchAll(/ --([a-z-]+) /g)]
      .map((match) => match[1])
      .filter((option) => option !== 'help' && option !== 'version');
    const section = text.split(/^## /m).find((part) => part.startsWith(`sheaf ${command}`)) ?? '';
    for (const option of options) expect(section).toContain(`--${option}`);
    expect(section).not.toBe('');
  });

  it('names the experiments with their options, as the help does', async () => {
    const { out } = await sheaf(['bench', '--help']);
    for (const [name, options] of Object.entries(benchOptions)) {
      const row = new RegExp(`^\\| \`${name}\` \\|.*$`, 'm').exec(text)?.[0] ?? '';
      expect(out).toContain(name);
      for (const option of options) {
        expect(row).toContain(`\`--${option}\``);
        // Up to the next option: descriptions have several lines.
        expect(out).toMatch(new RegExp(`--${option} (?:(?!\\n +--)[^])*${name}`));
      }
    }
  });

  it('lists the exit codes', () => {
    for (const code of Object.values(exitCodes)) expect(text).toMatch(new RegExp(`^\\| ${code} \\|`, 'm'));
  });
});
