import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { ensureFresh } from '../../fixtures/demo/freshness.mjs';

test('the demo site is made anew when a source changed, and only then', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'sheaf-demo-site-'));
  try {
    const source = join(directory, 'source.html');
    const site = join(directory, 'site');
    let made = 0;
    const ensure = () =>
      ensureFresh(site, [source], async (target) => {
        made += 1;
        writeFileSync(join(target, 'index.html'), readFileSync(source));
      });
    writeFileSync(source, 'one');
    await ensure();
    await ensure();
    assert.equal(made, 1);
    utimesSync(source, new Date(), new Date());
    await ensure();
    assert.equal(made, 1);
    writeFileSync(source, 'two');
    await ensure();
    assert.equal(made, 2);
    assert.equal(readFileSync(join(site, 'index.html'), 'utf8'), 'two');
    rmSync(join(site, 'index.html'));
    rmSync(site, { recursive: true });
    await ensure();
    assert.equal(made, 3);
  } finally {
    rmSync(directory, { recursive: true });
  }
});
