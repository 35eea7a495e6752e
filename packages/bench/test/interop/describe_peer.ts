import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { clientChecks } from './client_checks.js';
import { clientFeatures, keep, serverFeatures, type Feature, type Verdict, type Verdicts } from './matrix.js';
import type { Peer } from './peer.js';
import { serverChecks } from './server_checks.js';
import { startSite, type Site } from './site.js';

const checks = { ...clientChecks, ...serverChecks };

/** The tests of one implementation, and the one that compares what came of them with the committed matrix. */
export function describePeer(peer: Peer): void {
  const verdicts: Partial<Record<Feature, Verdict>> = {};
  let site: Site;
  beforeAll(async () => {
    site = await startSite();
  }, 180_000);
  afterAll(async () => {
    await peer.stop?.();
    await site.stop();
  });

  const tryAll = (title: string, features: Partial<Record<Feature, string>>): void => {
    const possible = Object.entries(features).filter(([key]) => {
      const reason = peer.cannot[key as Feature];
      if (reason !== undefined) verdicts[key as Feature] = `cannot: ${reason}`;
      return reason === undefined;
    });
    if (possible.length === 0) return;
    describe(title, () => {
      for (const [key, name] of possible) {
        const feature = key as Feature;
        test(
          name,
          async () => {
            verdicts[feature] = 'no: fails';
            verdicts[feature] = await verdictOf(peer, feature, site);
          },
          300_000,
        );
      }
    });
  };
  tryAll(`${peer.name} as the client of a gateway`, clientFeatures);
  tryAll(`${peer.name} as the server of Sheaf's client`, serverFeatures);

  test('the committed matrix says the same of it', () => {
    const missing = Object.keys(checks).filter((feature) => verdicts[feature as Feature] === undefined);
    // Only some of the tests were asked for: there is nothing to compare.
    if (missing.length > 0) return;
    expect(
      keep(peer.slug, { name: peer.name, verdicts: inOrder(verdicts as Verdicts) }),
      'docs/reference/interoperability.md is written anew: look at it, and commit it',
    ).toBe(true);
  });
}

/** @throws when a check fails that is not known to, and when one passes that is. */
async function verdictOf(peer: Peer, feature: Feature, site: Site): Promise<Verdict> {
  const known = peer.fails?.[feature];
  try {
    await checks[feature](peer, site);
  } catch (error) {
    if (known === undefined) throw error;
    console.log(`${peer.name}, ${feature}: fails, ${known}`);
    return `no: ${known}`;
  }
  if (known !== undefined) throw new Error(`${feature} works now: take it out of \`fails\` of ${peer.name}`);
  return 'yes';
}

const inOrder = (verdicts: Verdicts): Verdicts =>
  Object.fromEntries(
    [...Object.keys(clientFeatures), ...Object.keys(serverFeatures)].map((feature) => [
      feature,
      verdicts[feature as Feature],
    ]),
  ) as Verdicts;
