import { describe, expect, it } from 'vitest';
import { inConnection, requestNodes, sessionNodes } from '../lib/priority_nodes.js';

const dependency = { node: 18, parent: 11, weight: 42, exclusive: true };
const priority = {
  urgency: 2,
  incremental: true,
  dependency,
  groups: [{ node: 11, parent: 0, weight: 2, exclusive: false }],
};

describe('nodes of a connection', () => {
  it('keep apart what requests and sessions call by the same number', () => {
    const nodes = [requestNodes, sessionNodes(0), sessionNodes(4)].map(
      (part) => inConnection(priority, part).dependency?.node,
    );
    expect(nodes).toEqual([18, 2 ** 20 + 18, 2 * 2 ** 20 + 18]);
  });

  it('keep their relations, and the root', () => {
    expect(inConnection(priority, sessionNodes(8))).toEqual({
      urgency: 2,
      incremental: true,
      dependency: { node: 3 * 2 ** 20 + 18, parent: 3 * 2 ** 20 + 11, weight: 42, exclusive: true },
      groups: [{ node: 3 * 2 ** 20 + 11, parent: 0, weight: 2, exclusive: false }],
    });
  });

  it('are exact numbers, or there is no dependency', () => {
    const rest = { urgency: 2, incremental: true };
    expect(Number.isSafeInteger(inConnection(priority, 2 ** 32 - 1).dependency?.node)).toBe(true);
    expect(inConnection(priority, 2 ** 32)).toEqual(rest);
    for (const wrong of [0, -1, 2 ** 20])
      expect(inConnection({ ...priority, dependency: { ...dependency, node: wrong } }, 1)).toEqual(rest);
  });
});
