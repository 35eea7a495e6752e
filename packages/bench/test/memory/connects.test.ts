import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { devCertificateFiles, loadDevCertificate } from '@sheaf/gateway';
import { expect, test } from 'vitest';
import { json } from '../interop/programs.js';

const mebibyte = 1 << 20;

test('1,000 connections, opened and closed, leave memory where it was', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'sheaf-memory-'));
  try {
    await loadDevCertificate(directory, ['localhost'], new Date());
    const { cert, key } = devCertificateFiles(directory);
    const program = join(import.meta.dirname, 'connect_and_close.mjs');
    const { blocks, failed, open } = (await json(process.execPath, [
      '--expose-gc',
      program,
      cert,
      key,
      '16',
      '250',
    ])) as { blocks: number[]; failed: number; open: number };
    console.log(`resident after each 250: ${blocks.map((bytes) => `${(bytes / mebibyte).toFixed(1)} MiB`).join(', ')}`);
    expect({ failed, open }).toEqual({ failed: 0, open: 0 });
    // The first 3,000 fill caches, pools and the gaps of the allocator. After them 1,000 follow: each
    // would leave more than 100 KiB if it were kept, and 16 MiB would be 16 KiB for each.
    const [settled = 0, ...later] = blocks.slice(11);
    expect(Math.max(...later) - settled).toBeLessThan(16 * mebibyte);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}, 300_000);
