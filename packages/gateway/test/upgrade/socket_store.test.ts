import { closeSync, fstatSync } from 'node:fs';
import { openSharedTcp } from '@sheaf/native';
import { expect, it, onTestFinished } from 'vitest';
import { passedSockets } from '../../src/upgrade/passed_sockets.js';
import { namedSockets } from '../../src/upgrade/socket_names.js';
import { SocketStore } from '../../src/upgrade/socket_store.js';

const pid = 7;
const place = { node: 'site', use: 'listen', configured: '{"address":"127.0.0.1","port":443}' } as const;

const isOpen = (descriptor: number): boolean => {
  try {
    return fstatSync(descriptor).isSocket();
  } catch {
    return false;
  }
};

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
  expect([...passedSockets(variables, pid)].sort()).toEqual([...sockets].sort());
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
    expect([wrong, ...passedSockets({ ...variables, ...wrong }, pid)]).toEqual([wrong]);
  expect(passedSockets({}, pid).size).toBe(0);
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
    passed: new Map([[first, descriptor]]),
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
    passed: new Map(),
    warn: (text) => warnings.push(text),
  });
  another.keep(new Map(sockets.slice(1)));
  expect(warnings[2]).toContain('does not keep the sockets over a restart (ECONNREFUSED)');
});

it('sockets of a node that did not start are not offered again', () => {
  const { sockets } = listening();
  const store = new SocketStore({ socketName: undefined, passed: new Map(sockets), warn: (text) => expect.fail(text) });
  const names = sockets.map(([name]) => name);
  expect(store.take(names)).toEqual(sockets.map(([, descriptor]) => descriptor));
  store.dropRest();
  for (const [, descriptor] of sockets) expect(isOpen(descriptor)).toBe(true);
  expect(store.take(names)).toBe(undefined);
});
