import { expect, test } from 'vitest';
import { runSubject, type TransferOptions } from '../../../src/engine/subjects.js';
import { isRerunnable } from '../../../src/evidence/artefact/artefact.js';
import { readCatalogue } from '../../../src/evidence/artefact/catalogue.js';
import { runnerNamed } from '../../../src/evidence/runners/index.js';
import { checkArms } from '../../../src/evidence/run_artefact.js';

/** Returns the words that a program gets, which prints them as its version. */
async function wordsFor(own: TransferOptions | undefined, options: TransferOptions): Promise<string> {
  const print = 'console.log(JSON.stringify({ library: "x", version: process.argv.slice(1).join(" "), samples: [] }))';
  const subject = { library: 'x', version: undefined, command: [process.execPath, '-e', print, '--'] } as const;
  const command: [string, ...string[]] = [...subject.command];
  const { version } = await runSubject(
    { ...subject, command, ...(own && { transfer: own }) },
    { runs: 2, bytes: 1000 },
    options,
  );
  return version;
}

test('programs of other libraries get no words that they do not know', async () => {
  await expect(wordsFor(undefined, { receivers: 5 })).resolves.toBe('2 1000 5');
});

test('cryptography and dispatch are what the subject or the transfer says', async () => {
  await expect(wordsFor(undefined, { receivers: 5, provider: 'gnutls' })).resolves.toBe('2 1000 5 gnutls');
  await expect(wordsFor({ endpoint: true }, {})).resolves.toBe('2 1000 1 ipsec-mb endpoint');
  await expect(wordsFor({ endpoint: true }, { provider: 'gnutls' })).resolves.toBe('2 1000 1 gnutls endpoint');
});

test.each(['a', 'b'])('figure 7%s refuses an arm that goes through Endpoint without saying so', async (part) => {
  const found = (await readCatalogue()).find(({ id }) => id === `multicast/figure-7${part}`);
  if (!found || !isRerunnable(found)) throw new RangeError('no such artefact');
  const runner = runnerNamed('engine');
  checkArms(found, runner);
  const { arms } = found.setup;
  const silent = { ...arms['sheaf-endpoint']!, differs: ['library', 'cryptography'] };
  const artefact = { ...found, setup: { ...found.setup, arms: { ...arms, 'sheaf-endpoint': silent } } };
  expect(() => {
    checkArms(artefact, runner);
  }).toThrow('endpoint (true instead of false)');
});

test('figures 7a and 7b show one measurement', async () => {
  const [a, b] = (await readCatalogue()).filter(({ id }) => id.startsWith('multicast/figure-7')).filter(isRerunnable);
  expect(a?.setup).toEqual(b?.setup);
});
