import { expect, test } from 'vitest';
import { isRerunnable, type Rerunnable } from '../../../src/evidence/artefact/artefact.js';
import { readCatalogue } from '../../../src/evidence/artefact/catalogue.js';
import { checkArms } from '../../../src/evidence/run_artefact.js';
import { runnerNamed } from '../../../src/evidence/runners/index.js';
import type { Runner } from '../../../src/evidence/runners/runner.js';

const catalogue = await readCatalogue();

/** Checks an artefact one of whose arms does not say that it differs in `setting`. */
function checkWithout(id: string, arm: string, setting: string): void {
  const { artefact, runner } = found(id);
  const { arms } = artefact.setup;
  const silent = { ...arms[arm]!, differs: arms[arm]!.differs.filter((name) => name !== setting) };
  checkArms({ ...artefact, setup: { ...artefact.setup, arms: { ...arms, [arm]: silent } } }, runner);
}

function found(id: string): { artefact: Rerunnable & { id: string }; runner: Runner } {
  const artefact = catalogue.find((candidate) => candidate.id === id);
  if (!artefact || !isRerunnable(artefact)) throw new RangeError('no such artefact');
  return { artefact, runner: runnerNamed(artefact.setup.runner) };
}

const settingsOf = (id: string, arm: string): Readonly<Record<string, unknown>> => {
  const { artefact, runner } = found(id);
  return runner.settings(artefact.setup, arm);
};

test.each([
  ['multicast/figure-7a', 'sheaf-gnutls', 'command.own', 'command.own ([["gnutls"],'],
  [
    'multicast/figure-7b',
    'sheaf-endpoint',
    'compiled.write_ahead_bytes',
    'compiled.write_ahead_bytes (42000 instead of 65536)',
  ],
  ['multi-end/processor-time', 'direct', 'client.path', 'client.path ("/direct/500000" instead of "/proxy/500000")'],
  [
    'multi-end/processor-time',
    'caddy',
    'configuration.proxy',
    /configuration\.proxy \(".*reverse_proxy 127\.0\.0\.1:0/,
  ],
  ['multicast/figure-9c', 'moves', 'cut', 'cut (true instead of false)'],
  ['own/http-3', 'sheaf', 'configuration', /configuration \("listen: 127\.0\.0\.1:0/],
  ['own/http-2', 'nginx', 'configuration', /open_file_cache/],
  ['own/processor-time-three-backends', 'direct', 'client.backends', 'client.backends (3 instead of 0)'],
])('%s: %s is refused when it does not declare %s', (id, arm, setting, message) => {
  expect(() => {
    checkWithout(id, arm, setting);
  }).toThrow(message);
});

test("a proxy's settings have every backend, and the primary's have its routes", () => {
  expect(settingsOf('own/processor-time-three-backends', 'nginx-h2')['configuration.proxy']).toMatch(
    /(?:server 127\.0\.0\.1:0;\s+){3}keepalive/,
  );
  expect(settingsOf('multi-end/processor-time', 'proxy')['configuration.proxy']).toMatchObject({
    role: 'gateway',
    routes: [{ delivery: 'direct' }, { delivery: 'proxy' }],
  });
});
