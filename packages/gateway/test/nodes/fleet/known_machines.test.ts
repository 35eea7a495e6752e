import { expect, it } from 'vitest';
import { KnownMachines } from '../../../src/nodes/fleet/known_machines.js';
import type { FleetNode, FleetView } from '../../../src/registry/fleet_view.js';

const own = Buffer.from('01', 'hex');
const other = Buffer.from('02', 'hex');
const forwarding = { address: '192.0.2.2', port: 4434 };

const node = (changed: Partial<FleetNode> = {}): FleetNode =>
  ({
    name: 'other',
    listen: [{ address: '192.0.2.2', port: 443 }],
    forwarding,
    serverId: other,
    draining: false,
    state: 'alive',
    own: false,
    ...changed,
  }) as FleetNode;

/** What the registry tells, as a test changes it */
class View implements FleetView {
  nodes: readonly FleetNode[] = [];
  isRecent = true;
  node(name: string): FleetNode | undefined {
    return this.nodes.find((each) => each.name === name);
  }
  byServerId(serverId: Uint8Array): FleetNode | undefined {
    return this.nodes.find((each) => each.serverId?.equals(serverId));
  }
  onChange(): () => void {
    return () => undefined;
  }
}

function start(): { view: View; told: (nodes: readonly FleetNode[], now?: number) => unknown; known: KnownMachines } {
  const view = new View();
  const known = new KnownMachines(own, view);
  const told = (nodes: readonly FleetNode[], now = 0): unknown => {
    view.nodes = nodes;
    return known.update(now).map(({ opens, missing }) => ({ opens, missing }));
  };
  return { view, told, known };
}

const gone = { opens: false, missing: true };

it('a machine whose heartbeats are missed is missing, also after the registry has forgotten it', () => {
  const { told, known } = start();
  expect(told([node()])).toEqual([{ opens: true, missing: false }]);
  expect(told([node({ state: 'suspect' })])).toEqual([gone]);
  expect(known.nextEnd).toBeUndefined();
  expect(told([], 1_000)).toEqual([gone]);
  expect(known.nextEnd).toBe(601_000);
  expect(told([], 600_999)).toEqual([gone]);
  expect(told([], 601_000)).toEqual([]);
  expect(known.nextEnd).toBeUndefined();
});

it('a machine that lives is not missing when it takes no datagrams any more', () => {
  const { told } = start();
  told([node()]);
  expect(told([node({ forwarding: undefined })])).toEqual([]);
  told([node({ state: 'suspect' })]);
  expect(told([])).toEqual([gone]);
  expect(told([node({ forwarding: undefined })])).toEqual([]);
});

it('a machine that stopped without missing a heartbeat is not missing', () => {
  const { told } = start();
  told([node()]);
  expect(told([])).toEqual([]);
});

it('nobody is missing while the registry is away', () => {
  const { view, told } = start();
  const third = node({ name: 'third', serverId: Buffer.from('03', 'hex'), state: 'suspect' });
  told([node({ state: 'suspect' }), third]);
  expect(told([third])).toEqual([gone, gone]);
  view.isRecent = false;
  const unclear = { opens: false, missing: false };
  expect(told([third])).toEqual([unclear, unclear]);
  view.isRecent = true;
  expect(told([third])).toEqual([gone, gone]);
});

it('the link gets the addresses of listeners, which are part of reset tokens', () => {
  const { view, known } = start();
  view.nodes = [
    node({
      listen: [
        { address: '::2', port: 443 },
        { address: '192.0.2.2', port: 443 },
      ],
    }),
  ];
  expect(known.update(0)).toMatchObject([{ ...forwarding, serverId: other, resetScope: '192.0.2.2:443 [::2]:443' }]);
});
