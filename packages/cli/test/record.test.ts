import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { sheaf, temporaryDirectory } from './support/world.js';

const har = {
  log: {
    entries: [
      {
        request: { method: 'GET', url: 'https://a.example/' },
        response: { status: 200, bodySize: 50, content: { mimeType: 'text/html' } },
      },
      {
        request: { method: 'GET', url: 'https://a.example/x.gif' },
        response: { status: 200, bodySize: 10, content: { mimeType: 'image/gif' } },
      },
      { request: { method: 'POST', url: 'https://a.example/y' }, response: { status: 200, content: {} } },
    ],
  },
};

describe('sheaf record', () => {
  it('makes a table and a page, and says what is not as recorded', async () => {
    const directory = await temporaryDirectory();
    await writeFile(join(directory, 'my page.har'), JSON.stringify(har));
    const { code, out, err } = await sheaf(['record', 'my page.har', '-o', 'pages', '--name', 'mine'], directory);
    expect(code).toBe(0);
    expect(out).toContain('2 resources, 60 bytes');
    expect(err).toContain('left out, other method: 1');
    expect(err).toContain('too small for valid content: 1');
    expect(err).toMatch(/the document is \d+ bytes longer than recorded/);
    for (const file of ['mine.tsv', 'mine/index.html', 'mine/x.gif'])
      expect(existsSync(join(directory, 'pages', file))).toBe(true);
  });

  it.each(['my page.har', '.har'])('asks for a name where that of the file %j is none', async (file) => {
    const directory = await temporaryDirectory();
    await writeFile(join(directory, file), JSON.stringify(har));
    const { code, err } = await sheaf(['record', file, '-o', '.'], directory);
    expect([code, err]).toEqual([2, expect.stringContaining('--name')]);
  });

  it('refuses what is no HAR file', async () => {
    const directory = await temporaryDirectory();
    await writeFile(join(directory, 'x.har'), '{}');
    const { code, err } = await sheaf(['record', 'x.har', '-o', '.'], directory);
    expect([code, err]).toEqual([2, expect.stringContaining('error[HAR_INVALID]')]);
  });
});
