import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { readSources, requiredPackages } from '../setup/apt.mjs';

const withSources = (files, check) => {
  const directory = mkdtempSync(join(tmpdir(), 'sheaf-apt-'));
  mkdirSync(join(directory, 'sources.list.d'));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(directory, name), text);
  try {
    check(readSources(directory));
  } finally {
    rmSync(directory, { recursive: true });
  }
};

test('reads deb822 sources with several paragraphs, a key and comments', () => {
  const text = [
    '# made by the installer',
    'Types: deb',
    'URIs: http://mirror.test/debian',
    'Suites: bookworm bookworm-updates',
    'Components: main contrib',
    'Signed-By: /usr/share/keyrings/archive.gpg',
    '',
    'Types: deb-src',
    'URIs: http://sources.test/debian',
    'Suites: bookworm',
    'Components: main',
    '',
    'Enabled: no',
    'Types: deb',
    'URIs: http://off.test/debian',
    'Suites: bookworm',
    'Components: main',
    '',
  ].join('\n');
  withSources({ 'sources.list.d/debian.sources': text }, (sources) => {
    assert.equal(sources.length, 1);
    assert.equal(sources[0].uri, 'http://mirror.test/debian');
    assert.deepEqual(sources[0].suites, ['bookworm', 'bookworm-updates']);
    assert.equal(sources[0].signedBy, '/usr/share/keyrings/archive.gpg');
  });
});

test('reads one-line sources with and without options', () => {
  const text =
    '# deb http://comment.test/debian bookworm main\ndeb [arch=amd64 signed-by=/key.gpg] http://a.test/debian bookworm main\ndeb http://b.test/debian bookworm-backports main contrib\n';
  withSources({ 'sources.list': text }, (sources) => {
    assert.deepEqual(
      sources.map((source) => [source.uri, source.suites[0], source.signedBy]),
      [
        ['http://a.test/debian', 'bookworm', '/key.gpg'],
        ['http://b.test/debian', 'bookworm-backports', undefined],
      ],
    );
  });
});

test('the demo needs a browser and no test tools', () => {
  const { plain } = requiredPackages('demo');
  assert.ok(plain.includes('chromium'));
  assert.ok(!plain.includes('libgtest-dev'));
  for (const name of ['libgtest-dev', 'firefox-esr', 'libnss3-tools', 'nghttp2-client', 'nginx-light', 'libssl-dev'])
    assert.ok(requiredPackages('test').plain.includes(name));
  for (const name of ['uftp', 'libnorm-dev', 'nftables', 'nats-server'])
    assert.ok(requiredPackages('test').plain.includes(name));
});
