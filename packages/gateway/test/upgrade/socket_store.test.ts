import { closeSync, fstatSync } from 'node:fs';
import { boundSocket, openSharedTcp, openWorkerGroup } from '@sheaf/native';
import { expect, it, onTestFinished } from 'vitest';
import { parseConfiguration } from '../../src/configuration/load.js';
import { OpenedSockets } from '../../src/upgrade/opened_sockets.js';
import { passedSockets, type PassedSockets } from '../../src/upgrade/passed_sockets.js';
import { namedSockets } from '../../src/upgrade/socket_names.js';
import { SocketStore } from '../../src/upgrade/socket_store.js';
import { takeStored } from '../../src/workers/stored_sockets.js';

const pid = 7;
const place = { node: 'site', use: 'listen', configured: '{"address":"127.0.0.1","port":443}' } as const;

const isOpen = (descriptor: number): boolean => {
  try {
    return fstatSync(descriptor).isSocket();
  } catch {
    return false;
  }
};

const kept = (sockets: [string, number][]): PassedSockets => ({
  kept: new Map(sockets),
  opened: new OpenedSockets([]),
});

/** Two listening sockets, and variables that name them and nothing else */
function listening(): { sockets: [string, number][]; variables: Record<string, string> } {
  const { descriptors } = openSharedTcp({ address: '127.0.0.1', port: 0 }, 2);
  onTestFinished(() => descriptors.filter(isOpen).forEach((each) => closeSync(each)));
  const sockets = namedSockets(place, { tcp: [descriptors], udp: [] });
  const names = Array<string>(Math.max(...descriptors) - 2).fill('other');
  for (const [name, descriptor] of sockets) names[descriptor - 3] = name;
  const variables = { LISTEN_PID: String(pid), LISTEN_FDS: String(names.length), LISTEN_FDNAMES: names.join(':') };
  return { sockets, variables };
}

it('sockets are passed to the process that the manager names, and to no other', () => {
  const { sockets, variables } = listening();
  expect([...passedSockets(variables, pid).kept].sort()).toEqual([...sockets].sort());
  for (const wrong of [
    { LISTEN_PID: '8' },
    { LISTEN_PID: '' },
    { LISTEN_FDS: '0' },
    { LISTEN_FDS: '-1' },
    { LISTEN_FDS: '1e5' },
    { LISTEN_FDNAMES: '' },
    { LISTEN_FDNAMES: variables['LISTEN_FDNAMES']!.replaceAll('-tcp-', '-udp-') },
    { LISTEN_FDNAMES: variables['LISTEN_FDNAMES']!.replaceAll('listen-', 'listen-/') },
  ])
    expect([wrong, ...passedSockets({ ...variables, ...wrong }, pid).kept]).toEqual([wrong]);
  expect(passedSockets({}, pid).kept.size).toBe(0);
  // Nobody touches what is somebody else's.
  for (const [, descriptor] of sockets) expect(isOpen(descriptor)).toBe(true);
});

it('names differ with the node, the use, the address and the number of workers', () => {
  const nameOf = (change: object, workers = 1): string =>
    namedSockets({ ...place, ...change }, { tcp: [Array<number>(workers).fill(5)], udp: [] })[0]![0];
  const names = [
    nameOf({}),
    nameOf({ node: 'b' }),
    nameOf({ use: 'http' }),
    nameOf({ configured: '{}' }),
    nameOf({}, 2),
  ];
  expect(new Set(names).size).toBe(names.length);
});

it('a part of a group is not taken but closed, and a manager that is not there is a warning', () => {
  const { sockets } = listening();
  const [[first, descriptor]] = sockets as [[string, number], [string, number]];
  const warnings: string[] = [];
  const store = new SocketStore({
    socketName: '@sheaf-test-nobody',
    passed: kept([[first, descriptor]]),
    warn: (warning) => warnings.push(warning),
  });
  expect(store.take(sockets.map(([name]) => name))).toBe(undefined);
  expect(isOpen(descriptor)).toBe(true);
  store.dropRest();
  expect(isOpen(descriptor)).toBe(false);
  store.keep(new Map(sockets.slice(1)));
  const unused = expect.stringContaining(
    'may keep sockets that no node uses, and their addresses with them (ECONNREFUSED)',
  );
  expect(warnings).toEqual([unused, unused]);
  const another = new SocketStore({
    socketName: '@sheaf-test-nobody',
    passed: kept([]),
    warn: (text) => warnings.push(text),
  });
  another.keep(new Map(sockets.slice(1)));
  expect(warnings[2]).toContain('does not keep the sockets over a restart (ECONNREFUSED)');
});

it('sockets of a node that did not start are not offered again', () => {
  const { sockets } = listening();
  const store = new SocketStore({ socketName: undefined, passed: kept(sockets), warn: (text) => expect.fail(text) });
  const names = sockets.map(([name]) => name);
  expect(store.take(names)).toEqual(sockets.map(([, descriptor]) => descriptor));
  store.dropRest();
  for (const [, descriptor] of sockets) expect(isOpen(descriptor)).toBe(true);
  expect(store.take(names)).toBe(undefined);
});

/** Sockets of two workers at one port of `::1` that the manager opened, and what it says about them */
function opened(): { port: number; passed: PassedSockets; variables: Record<string, string>; open: number[] } {
  const { descriptors, port } = openSharedTcp({ address: '::1', port: 0 }, 2);
  const group = openWorkerGroup({ workers: 2, addresses: [{ address: '::1', port }] });
  const open = [...descriptors, ...group.inheritance().descriptors.flat()];
  onTestFinished(() => {
    descriptors.filter(isOpen).forEach((each) => closeSync(each));
    group.close();
  });
  const names = Array<string>(Math.max(...open) - 2).fill('other');
  for (const descriptor of open) names[descriptor - 3] = 'sheaf';
  const variables = { LISTEN_PID: String(pid), LISTEN_FDS: String(names.length), LISTEN_FDNAMES: names.join(':') };
  return { port, passed: passedSockets(variables, pid), variables, open };
}

function takenBy(yaml: string, passed: PassedSockets, warnings: string[] = []): ReturnType<typeof takeStored> {
  const { nodes } = parseConfiguration(`tls: dev\nroutes: [{ files: . }]\n${yaml}`, '/srv/sheaf.yaml');
  const store = new SocketStore({ socketName: undefined, passed, warn: (text) => warnings.push(text) });
  return takeStored(
    nodes.filter((node) => node.role === 'gateway'),
    store,
  );
}

it('sockets that the manager opened go to the address of a node, in whatever spelling, in their order', () => {
  const { port, passed, open } = opened();
  // Each attempt to start the nodes gets descriptors of its own.
  for (let attempt = 0; attempt < 2; attempt++) {
    const sockets = takenBy(`listen: "[0:0::1]:${port}"\nworkers: 2`, passed)
      .get('gateway')!
      .take('listen', JSON.stringify({ address: '0:0::1', port }));
    const taken = [...sockets!.tcp.flat(), ...sockets!.udp!.descriptors.flat()];
    onTestFinished(() => taken.forEach((each) => closeSync(each)));
    expect(taken.map((each) => fstatSync(each).ino)).toEqual(open.map((each) => fstatSync(each).ino));
    expect(taken.filter((each) => open.includes(each))).toEqual([]);
  }
});

it('sockets that the manager opened and that do not fit are an error, and those of no node a warning', () => {
  const { port, passed } = opened();
  const misfit = (yaml: string): unknown => {
    try {
      return takenBy(yaml, passed);
    } catch (error) {
      return error;
    }
  };
  expect(misfit(`listen: "[::1]:${port}"\nworkers: 3`)).toMatchObject({
    code: 'SOCKETS_UNFIT',
    message: `the service manager has opened 2 sockets of TCP [::1]:${port}, and not 3`,
  });
  expect(misfit(`listen: ["[::1]:${port}", "127.0.0.1:${port}"]\nworkers: 2`)).toMatchObject({
    message: `the service manager has opened 0 sockets of TCP 127.0.0.1:${port}, and not 2`,
  });
  const { port: other, passed: unused } = opened();
  const warnings: string[] = [];
  expect(takenBy('listen: ":443"\nworkers: 2', unused, warnings).get('gateway')!.rest).toEqual([]);
  expect(warnings).toEqual([
    expect.stringContaining(`has opened TCP [::1]:${other}, where no node listens`),
    expect.stringContaining(`has opened UDP [::1]:${other}, where no node listens`),
  ]);
});

it('several sockets of one address that the manager opened have to share it', () => {
  const { port, passed } = opened();
  const alone = passed.opened
    .at('UDP', { address: '::1', port })
    .map((socket) => ({ ...socket, bound: { ...socket.bound, shared: false } }));
  const sockets = new OpenedSockets([...passed.opened.at('TCP', { address: '::1', port }), ...alone]);
  expect(() => takenBy(`listen: "[::1]:${port}"\nworkers: 2`, { kept: new Map(), opened: sockets })).toThrow(
    '`ReusePort=yes`',
  );
});

it('of what has the name of sockets that the manager opened, only bound sockets are taken', () => {
  const { variables, open } = opened();
  const { LISTEN_FDNAMES: names } = variables;
  const all = passedSockets({ ...variables, LISTEN_FDNAMES: names!.replaceAll('other', 'sheaf') }, pid);
  // Other tests of this process have sockets, too, but none at this address.
  const { address, port } = boundSocket(open[0]!, 'TCP')!;
  expect(all.opened.at('TCP', { address, port })).toHaveLength(2);
  expect(passedSockets({ ...variables, LISTEN_PID: '8' }, pid).opened.at('TCP', { address, port })).toEqual([]);
});
