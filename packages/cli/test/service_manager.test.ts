import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { notifyServiceManager } from '@sheaf/native';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ServiceManager } from '../src/service_manager.js';
import { bindManagerSocket } from './support/manager_socket.js';
import { temporaryDirectory } from './support/world.js';

const abstractName = (): string => `@sheaf-test-${randomUUID()}`;

function managerOf(env: Record<string, string>, pid = 1): { manager: ServiceManager; warnings: string[] } {
  const warnings: string[] = [];
  const manager = new ServiceManager(env, { pid, warn: (warning) => warnings.push(warning) });
  onTestFinished(() => manager.end());
  return { manager, warnings };
}

describe('notifyServiceManager', () => {
  it('sends what sd_notify(3) defines, to abstract names and to paths', async () => {
    for (const name of [abstractName(), join(await temporaryDirectory(), 'notify')]) {
      const manager = await bindManagerSocket(name);
      expect(notifyServiceManager(name, { ready: true, status: 'serving: site\nERRNO=5' })).toBe(undefined);
      expect(notifyServiceManager(name, { reloadingSince: 5_000_000n, mainPid: 7 })).toBe(undefined);
      expect(notifyServiceManager(name, { stopping: true })).toBe(undefined);
      expect(notifyServiceManager(name, { watchdog: true })).toBe(undefined);
      await expect
        .poll(() => manager.messages())
        .toEqual([
          'READY=1\nSTATUS=serving: site ERRNO=5',
          'RELOADING=1\nMONOTONIC_USEC=5000\nMAINPID=7',
          'STOPPING=1',
          'WATCHDOG=1',
        ]);
    }
  });

  it('tells nobody without a manager, and names the error of a socket that nobody has', () => {
    expect(notifyServiceManager(undefined, { ready: true })).toBe(undefined);
    expect(notifyServiceManager('', { ready: true })).toBe(undefined);
    expect(notifyServiceManager(abstractName(), { ready: true })).toBe('ECONNREFUSED');
    expect(notifyServiceManager('vsock:2:1', { ready: true })).toBe('EINVAL');
  });
});

describe('a service manager', () => {
  it('hears that the nodes serve, and then as long as the event loop turns that they live', async () => {
    const socket = abstractName();
    const got = await bindManagerSocket(socket);
    const { manager } = managerOf({ NOTIFY_SOCKET: socket, WATCHDOG_USEC: '20000', WATCHDOG_PID: '1' });
    manager.ready('serving: site (gateway)');
    await expect
      .poll(() => got.messages().slice(0, 3))
      .toEqual(['READY=1\nSTATUS=serving: site (gateway)', 'WATCHDOG=1', 'WATCHDOG=1']);
    manager.stopping('draining: site (gateway)');
    await expect.poll(() => got.messages()).toContain('STOPPING=1\nSTATUS=draining: site (gateway)');
  });

  it('hears of a reload while the nodes serve, and of none before and after', async () => {
    const socket = abstractName();
    const got = await bindManagerSocket(socket);
    const { manager } = managerOf({ NOTIFY_SOCKET: socket });
    const reload = (): void => {
      manager.reloading(7_000n);
      manager.reloaded();
    };
    reload();
    manager.ready('serving');
    reload();
    manager.stopping('draining');
    reload();
    await expect
      .poll(() => got.messages())
      .toEqual(['READY=1\nSTATUS=serving', 'RELOADING=1\nMONOTONIC_USEC=7', 'READY=1', 'STOPPING=1\nSTATUS=draining']);
  });

  it('that had no room for the begin of a reload hears of its end', async () => {
    const socket = abstractName();
    const got = await bindManagerSocket(socket);
    const { manager } = managerOf({ NOTIFY_SOCKET: socket });
    manager.ready('serving');
    while (notifyServiceManager(socket, { watchdog: true }) === undefined);
    manager.reloading(7_000n);
    manager.reloaded();
    await expect.poll(() => got.messages().at(-1)).toBe('READY=1');
    expect(got.messages().join()).not.toContain('RELOADING');
  });

  it.each([
    ['wants no sign of life', {}],
    ['wants one of another process', { WATCHDOG_USEC: '20000', WATCHDOG_PID: '2' }],
    ['gives no time', { WATCHDOG_USEC: '0' }],
  ])('that %s gets none', async (_what, env) => {
    const socket = abstractName();
    const got = await bindManagerSocket(socket);
    const { manager } = managerOf({ NOTIFY_SOCKET: socket, ...env });
    manager.ready('serving');
    await new Promise((resolve) => setTimeout(resolve, 100));
    manager.stopping('draining');
    await expect.poll(() => got.messages()).toEqual(['READY=1\nSTATUS=serving', 'STOPPING=1\nSTATUS=draining']);
  });

  it('that does not read gets the message later', async () => {
    const socket = abstractName();
    const got = await bindManagerSocket(socket);
    while (notifyServiceManager(socket, { watchdog: true }) === undefined);
    const { manager, warnings } = managerOf({ NOTIFY_SOCKET: socket });
    manager.ready('serving');
    await expect.poll(() => got.messages().at(-1)).toBe('READY=1\nSTATUS=serving');
    expect(warnings).toEqual([]);
  });

  it('that is not there is a warning, and none without NOTIFY_SOCKET', () => {
    const { manager, warnings } = managerOf({ NOTIFY_SOCKET: abstractName() });
    manager.ready('serving');
    expect(warnings).toEqual([expect.stringContaining('cannot be told the state (ECONNREFUSED)')]);
    const alone = managerOf({});
    alone.manager.ready('serving');
    expect(alone.warnings).toEqual([]);
  });
});
