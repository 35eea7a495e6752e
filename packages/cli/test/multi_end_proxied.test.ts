import { expect, it, onTestFinished, vi } from 'vitest';
import { Downloads } from './support/downloads.js';
import { MultiEndSite } from './support/multi_end_site.js';

interface Fault {
  name: string;
  /** What docs/results/multi-end.md states for the longest stall; printed beside what was seen. */
  statedMs: number;
  happen(site: MultiEndSite): Promise<void> | void;
  undo(site: MultiEndSite): Promise<void> | void;
  /** State of `backend2` when the fault takes requests away from it. */
  state: 'draining' | 'lost';
}

const faults: readonly Fault[] = [
  {
    name: 'backend drains',
    statedMs: 1_000,
    happen: (site) => site.drain('backend2', 'drain'),
    undo: (site) => site.drain('backend2', 'resume'),
    state: 'draining',
  },
  {
    name: 'backend killed',
    statedMs: 4_000,
    happen: (site) => site.kill('backend2'),
    undo: (site) => site.run('backend2'),
    state: 'lost',
  },
  {
    name: 'backbone cut',
    statedMs: 4_000,
    happen: (site) => site.cutBackbone(1, true),
    undo: (site) => site.cutBackbone(1, false),
    state: 'lost',
  },
];

/** Large and small files for clients without Multi-End; the result says what another backend had to do once more. */
async function suffer(site: MultiEndSite, { name, statedMs, happen, undo, state }: Fault): Promise<number> {
  await site.serving(3);
  const asked = async (): Promise<number> => (await site.backends()).reduce((sum, { proxied }) => sum + proxied, 0);
  const before = await asked();
  const [large, small] = [
    new Downloads({ port: site.linkToGateway(), path: '/any/large.bin', content: site.large }),
    new Downloads({ port: site.linkToGateway(), path: '/any/small.bin', content: site.small }),
  ];
  await Promise.all([large, small].map((downloads) => downloads.open(0)));
  large.begin();
  await vi.waitFor(
    async () => {
      for (const { requestsActive } of await site.backends()) expect(requestsActive).toBeGreaterThan(0);
    },
    { timeout: 60_000, interval: 50 },
  );
  small.begin();
  for (const downloads of [large, small]) downloads.measure();
  await happen(site);
  for (const downloads of [large, small]) downloads.mark();
  await vi.waitFor(
    async () => {
      for (const { since } of [large, small]) expect(since).toBeGreaterThan(5);
      expect((await site.backends())[1]!.state).toBe(state);
    },
    { timeout: 90_000, interval: 100 },
  );
  await Promise.all([large, small].map((downloads) => downloads.end()));
  const requests = large.requests + small.requests;
  const again = (await asked()) - before - requests;
  const stalls = {
    largeFilesMs: Math.round(large.longestStallMs),
    smallFilesMs: Math.round(small.longestStallMs),
    statedMs,
  };
  process.stdout.write(`${JSON.stringify({ fault: name, requests, again, ...stalls })}\n`);
  await undo(site);
  expect([...large.failures, ...small.failures], name).toEqual([]);
  expect(large.bytesLost + small.bytesLost, name).toBe(0);
  return again;
}

it(
  'a gateway that proxies requests fails none and loses no byte when a backend of several is lost or drains',
  { timeout: 600_000 },
  async () => {
    const site = await MultiEndSite.start(['site', 'backend1', 'backend2', 'backend3']);
    onTestFinished(() => site.stop());
    for (const fault of faults) {
      let again = await suffer(site, fault);
      // It may happen between two requests.
      while (fault.state === 'lost' && again === 0) again = await suffer(site, fault);
    }
  },
);
