import type { OpenPathOptions, PathUse } from '@sheaf/native';
import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { PathPolicy, type PathConnection } from '../../../src/nodes/uplink/path_policy.js';
import { wantedPaths, type WantedPath } from '../../../src/nodes/uplink/wanted_paths.js';

/** A connection whose paths come about, fail and end when the test says so. */
class FakeConnection implements PathConnection {
  readonly calls: string[] = [];
  refusal: Error | undefined;
  last = 0;
  onlyPath = false;

  openPath({ local }: OpenPathOptions): Promise<number> {
    this.calls.push(`open ${local}`);
    return this.refusal ? Promise.reject(this.refusal) : Promise.resolve(++this.last);
  }
  abandonPath(id: number): void {
    if (this.onlyPath) throw new Error('it is the last one');
    this.calls.push(`abandon ${id}`);
  }
  setPathStatus(id: number, status: PathUse): void {
    this.calls.push(`${status} ${id}`);
  }
  setPathWeight(id: number, weight: number): void {
    this.calls.push(`weight ${weight} of ${id}`);
  }
  /** What was called since the last time. */
  take(): string[] {
    return this.calls.splice(0);
  }
}

const path = (local: string, backup = false): WantedPath => ({ local, backup });
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function start(first: WantedPath | undefined, ...others: WantedPath[]) {
  const connection = new FakeConnection();
  const state = { wanted: [...(first ? [first] : []), ...others] };
  const policy = new PathPolicy({ connection, first, wanted: () => state.wanted, log: pino({ level: 'silent' }) });
  const reconcile = async (now: number): Promise<string[]> => {
    policy.reconcile(now);
    await settled();
    return connection.take();
  };
  return { connection, policy, state, reconcile };
}

describe('the paths of an edge', () => {
  it('are opened beside that of the handshake, once', async () => {
    const { reconcile } = start(path('a'), path('b'), path('c', true));
    expect(await reconcile(0)).toEqual(['open b', 'open c', 'backup 2']);
    expect(await reconcile(1_000)).toEqual([]);
  });

  it('may have a backup as the first one', () => {
    const { connection } = start(path('a', true), path('b'));
    expect(connection.take()).toEqual(['backup 0']);
  });

  it('have their weights, also when they are opened anew', async () => {
    const { policy, connection, reconcile } = start({ ...path('a'), weight: 2 }, { ...path('b', true), weight: 1_000 });
    expect(connection.take()).toEqual(['weight 2 of 0']);
    expect(await reconcile(0)).toEqual(['open b', 'backup 1', 'weight 1000 of 1']);
    policy.onEvent({ type: 'abandoned', id: 1, code: 0, byPeer: true });
    expect(await reconcile(1_000)).toEqual(['open b', 'backup 2', 'weight 1000 of 2']);
  });

  it('follow the addresses as they come and go', async () => {
    const { state, reconcile } = start(path('a'));
    expect(await reconcile(0)).toEqual([]);
    state.wanted = [path('a'), path('b')];
    expect(await reconcile(1_000)).toEqual(['open b']);
    state.wanted = [path('b')];
    expect(await reconcile(2_000)).toEqual(['abandon 0']);
    state.wanted = [path('b'), path('a')];
    expect(await reconcile(3_000)).toEqual(['open a']);
  });

  it('keep the last one although it is not wanted, until there is another', async () => {
    const { connection, state, reconcile } = start(path('a'));
    connection.onlyPath = true;
    state.wanted = [];
    expect(await reconcile(0)).toEqual([]);
    connection.onlyPath = false;
    expect(await reconcile(1_000)).toEqual(['abandon 0']);
    expect(await reconcile(2_000)).toEqual([]);
  });

  it('are tried again after a failure, at growing distances', async () => {
    const { connection, reconcile } = start(path('a'), path('b'));
    connection.refusal = Object.assign(new Error('nothing came back'), { code: 'PATH_FAILED' });
    const attempts: number[] = [];
    for (let second = 0; second <= 120; second++)
      if ((await reconcile(second * 1_000)).length > 0) attempts.push(second);
    expect(attempts).toEqual([0, 1, 3, 7, 15, 31, 61, 91]);
    connection.refusal = undefined;
    expect(await reconcile(121_000)).toEqual(['open b']);
    expect(await reconcile(200_000)).toEqual([]);
  });

  it('are opened anew when one was abandoned by the peer or went dark', async () => {
    const { policy, reconcile } = start(path('a'), path('b'));
    await reconcile(0);
    policy.onEvent({ type: 'abandoned', id: 1, code: 0, byPeer: true });
    expect(await reconcile(500)).toEqual([]);
    expect(await reconcile(1_000)).toEqual(['open b']);
    policy.onEvent({ type: 'abandoned', id: 1, code: 0, byPeer: true });
    expect(await reconcile(60_000)).toEqual([]);
  });

  it('stay one when the gateway does not speak multipath', async () => {
    const { connection, reconcile } = start(path('a'), path('b'));
    connection.refusal = Object.assign(new Error('no'), { code: 'NO_MULTIPATH' });
    expect(await reconcile(0)).toEqual(['open b']);
    expect(await reconcile(100_000)).toEqual([]);
  });
});

describe('paths: auto', () => {
  const address = (text: string, internal = false) => ({ address: text, internal }) as never;
  const interfaces = () => ({
    lo: [address('127.0.0.1', true), address('::1', true)],
    eth0: [address('192.0.2.7'), address('2001:db8::7'), address('fe80::7')],
    wlan0: [address('198.51.100.7'), address('169.254.1.1')],
    none: undefined,
  });

  it("takes every address of the gateway's family that leads somewhere", () => {
    expect(wantedPaths('auto', '203.0.113.1', interfaces)).toEqual([path('192.0.2.7'), path('198.51.100.7')]);
    expect(wantedPaths('auto', '2001:db8::1', interfaces)).toEqual([path('2001:db8::7')]);
  });

  it('leaves the way to a gateway on this machine to the system', () => {
    expect(wantedPaths('auto', '127.0.0.1', interfaces)).toEqual([]);
    expect(wantedPaths('auto', '::1', interfaces)).toEqual([]);
  });
});
