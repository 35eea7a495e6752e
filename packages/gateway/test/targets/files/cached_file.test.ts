import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { open, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { readCached } from '@sheaf/native';
import { describe, expect, it } from 'vitest';
import { fileBody } from '../../../src/targets/files/file_body.js';
import { collect } from '../../support/client.js';
import { temporaryDirectory } from '../../support/temporary_directory.js';

const content = randomBytes(1_000_003);

async function makeFile(): Promise<string> {
  const path = join(await temporaryDirectory(), 'file');
  await writeFile(path, content);
  return path;
}

describe('what the system has of a file in its memory', () => {
  it('is read at its place, as far as there is room', async () => {
    const handle = await open(await makeFile());
    const buffer = Buffer.alloc(300, 7);
    const read = readCached(handle.fd, buffer.subarray(100, 200), 5_000);
    if (read === 0) console.log('this file system does not say what it has in memory');
    expect(buffer.subarray(100, 100 + read).equals(content.subarray(5_000, 5_000 + read))).toBe(true);
    expect([...buffer.subarray(0, 100), ...buffer.subarray(100 + read)].every((byte) => byte === 7)).toBe(true);
    await handle.close();
  });

  it('is nothing behind the end, of a file that is closed, and of no file', async () => {
    const handle = await open(await makeFile());
    const buffer = Buffer.alloc(10);
    expect(readCached(handle.fd, buffer, content.length)).toBe(0);
    expect(readCached(handle.fd, Buffer.alloc(0), 0)).toBe(0);
    await handle.close();
    expect(handle.fd).toBe(-1);
    expect(readCached(handle.fd, buffer, 0)).toBe(0);
    expect(readCached(1_000_000, buffer, 0)).toBe(0);
  });

  it.each(['is in memory', 'has to come from the disk'])(
    'is part of a body that is whole: the file %s',
    async (where) => {
      const path = await makeFile();
      if (where !== 'is in memory')
        await promisify(execFile)('dd', [`if=${path}`, 'iflag=nocache', 'count=0', 'status=none']);
      const body = await collect(fileBody(await open(path), { start: 3, end: content.length - 5 }));
      expect(body.equals(content.subarray(3, content.length - 5))).toBe(true);
    },
  );
});
