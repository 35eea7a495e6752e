import { expect, test } from 'vitest';
import { isRerunnable } from '../../../src/evidence/artefact/artefact.js';
import { readCatalogue } from '../../../src/evidence/artefact/catalogue.js';
import { returnFaultSamples } from '../../../src/evidence/runners/direct_return_faults.js';
import { evaluate } from '../../../src/evidence/verdict/predicate.js';

const found = (await readCatalogue()).find(({ id }) => id === 'own/return-process-faults');
if (!found || !isRerunnable(found)) throw new RangeError('own/return-process-faults does not rerun');
const artefact = found;
const { faults } = artefact.setup.options as { faults: string[] };

const whole = {
  delivery: 'return',
  requests: 100,
  failures: [] as string[],
  bytesLost: 0,
  longestStallMs: 450,
  statedMs: 1_500,
  keyUpdates: 20,
  refused: 0,
  returned: 80,
  fallbacks: { 'backend lost': 2, overload: 1 },
};
const rows = (change: object = {}): string[] =>
  faults.map((fault) => JSON.stringify({ fault, ...whole, ...(fault === 'backend killed' && change) }));

/** Returns the claims that two runs miss, of which the second one printed these rows. */
function missedWith(change: object): string[] {
  const samples = [rows(), rows(change)].map((lines) =>
    returnFaultSamples({ output: ['stdout | a test', ...lines].join('\n'), failed: undefined }, 'return', faults),
  );
  const [first = [], second = []] = samples;
  const cells = first.flatMap(({ arm, at, values }, index) =>
    Object.entries(values).map(([quantity, value]) => ({
      arm,
      at,
      quantity,
      values: [value, second[index]?.values[quantity] ?? Number.NaN],
    })),
  );
  return artefact.claims
    .filter(({ predicates }) =>
      predicates.some((predicate) => evaluate(predicate, artefact.quantities, cells).truth !== 'holds'),
    )
    .map(({ text }) => text);
}

test('a row that breaks a mark makes its claim a missed one', () => {
  expect(missedWith({})).toEqual([]);
  expect(missedWith({ failures: ['reset'] })).toEqual(['No request fails that another backend could go on with']);
  expect(missedWith({ bytesLost: 1 })).toEqual(['No byte is wrong']);
  expect(missedWith({ interrupted: 'timed out' })).toEqual(['Downloads go on within 90 s of every fault']);
  expect(missedWith({ longestStallMs: 1_501 })).toHaveLength(2);
});

test('a run without a row about a fault fails, and so does one with a fault that the artefact lacks', () => {
  const samples = (lines: readonly string[]) => () =>
    returnFaultSamples({ output: lines.join('\n'), failed: undefined }, 'return', faults);
  expect(samples(rows().slice(1))).toThrow(`'${faults[0]}'`);
  expect(samples([...rows(), JSON.stringify({ fault: 'a flood', ...whole })])).toThrow("'a flood'");
});
