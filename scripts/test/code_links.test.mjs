import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findBadWays, findBrokenSymbols, whereNow } from '../checks/code_links.mjs';

const sources = {
  'src/endpoint.cc': `
// Endpoint::remember( is what a comment says.
void Endpoint::receive(const Datagram& datagram) {
  driver.poll(datagram);
  other::call(datagram);
}
Result<Driver*,
       Failure>
Endpoint::connect(Config config) {
}
std::size_t usable(std::span<Path> paths) {
  return call(paths);
}
`,
  'src/selection.h': `
class Sender;
class Selection {
 public:
  bool chooses(const Entry& entry) {
    return waits(entry);
  }
};
class Other {
  bool decides() const;
};
`,
  'src/handler.ts': `
/** RequestHandler.forget( is what a comment says. */
export async function serve(target: Target): Promise<void> {
  await handler.handle(target);
}
export class RequestHandler {
  async handle(request: Request): Promise<void> {
    await this.#dispatch(request);
    this.abandon(request);
  }
  async #dispatch(request: Request): Promise<void> {}
}
export class Other {
  close(): void {}
}
`,
};
const broken = (symbol, target) =>
  findBrokenSymbols(
    [{ path: 'docs/way.md', text: `\n1. [\`${symbol}\`](../src/${target}): text\n` }],
    (path) => sources[path],
  );

test('symbols: what a file defines is accepted', () => {
  for (const symbol of ['Endpoint::receive', 'Endpoint::connect', 'usable'])
    assert.deepEqual(broken(symbol, 'endpoint.cc'), []);
  for (const symbol of ['Selection', 'Selection::chooses', 'Other::decides'])
    assert.deepEqual(broken(symbol, 'selection.h'), []);
  for (const symbol of ['serve', 'RequestHandler', 'RequestHandler.handle', 'RequestHandler.#dispatch', 'Other.close'])
    assert.deepEqual(broken(symbol, 'handler.ts'), []);
});

test('symbols: a call, a comment, another class and a part of a name are no definition', () => {
  for (const symbol of ['Endpoint::remember', 'Endpoint::rec', 'Other::receive', 'poll', 'other::call', 'call'])
    assert.deepEqual(broken(symbol, 'endpoint.cc'), [`docs/way.md:2: ../src/endpoint.cc does not define ${symbol}`]);
  for (const symbol of ['Sender', 'Selection::waits', 'Selection::decides', 'Other::chooses'])
    assert.equal(broken(symbol, 'selection.h').length, 1, symbol);
  for (const symbol of [
    'handle',
    'RequestHandler.abandon',
    'RequestHandler.forget',
    'RequestHandler.close',
    'RequestHandler.dispatch',
  ])
    assert.equal(broken(symbol, 'handler.ts').length, 1, symbol);
});

test('symbols: a file that is gone is told', () => {
  assert.deepEqual(broken('Endpoint::receive', 'gone.cc'), [
    'docs/way.md:2: there is no file ../src/gone.cc with Endpoint::receive',
  ]);
});

const way = (of, steps) => `## The way of a ${of}\n\n${'1. [`a`](b.ts): text\n'.repeat(steps)}\n`;
const all = (steps) =>
  ['received datagram', 'request', 'scheduling decision', 'hand-over'].map((of) => way(of, steps)).join('');

test('ways: four with at most twelve steps each', () => {
  assert.deepEqual(findBadWays(all(12)), []);
  assert.equal(findBadWays(all(13)).length, 4);
  assert.equal(findBadWays(all(0)).length, 4);
  assert.deepEqual(findBadWays(all(3).replace('hand-over', 'detour')), [
    'docs/internals/ways.md: the way of a hand-over is missing',
  ]);
});

test('ways: a step without a link to a symbol is told', () => {
  assert.equal(findBadWays(`${all(3)}1. and so on\n`).length, 1);
});

test('symbols: the message names the file that defines a symbol now', () => {
  const files = Object.entries(sources).map(([path, text]) => ({ path, text }));
  assert.equal(
    whereNow('docs/way.md:2: x.cc does not define Endpoint::receive', files),
    '; src/endpoint.cc defines it',
  );
  assert.equal(whereNow('docs/way.md:2: x.cc does not define Endpoint::forget', files), '');
});
