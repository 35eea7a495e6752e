import { readFileSync } from 'node:fs';
import { expect, it, onTestFinished, vi } from 'vitest';
import { start } from './support/process.js';
import { sheaf, temporaryDirectory } from './support/world.js';

interface Backends {
  backends: { name: string; process: string; pid: number; state: string }[];
}

/** Not where it has ended and nobody asked how. */
const alive = (pid: number): boolean => {
  try {
    return !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
};

it.each(['SIGTERM', 'SIGKILL'] as const)(
  'sheaf demo --site multi-end runs three backends as processes, which end with it (%s)',
  { timeout: 300_000 },
  async (signal) => {
    const { child, exit, out, err } = start(
      ['demo', '--site', 'multi-end', '--port', '0', '--http-port', '0'],
      await temporaryDirectory(),
    );
    await vi.waitFor(() => expect(out() + err()).toMatch(/next: |error\[/), 180_000);
    expect(err()).not.toContain('error[');
    const [, url = ''] = /open (http:\/\/localhost:\d+\/) in a browser/.exec(out()) ?? [];
    const { backends } = (await (await fetch(`${url}demo/backends`)).json()) as Backends;
    expect(backends.map(({ name, process }) => [name, process])).toEqual([
      ['backend1', 'running'],
      ['backend2', 'running'],
      ['backend3', 'running'],
    ]);
    expect(backends.every(({ pid }) => pid !== child.pid && alive(pid))).toBe(true);
    expect(await (await fetch(url)).text()).toContain('One connection, three servers.');
    child.kill(signal);
    expect(await exit).toBe(signal === 'SIGTERM' ? 0 : null);
    await vi.waitFor(() => expect(backends.filter(({ pid }) => alive(pid))).toEqual([]), 60_000);
  },
);

/** Returns the processes that a process has started. */
const children = (pid: number): number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number);

it('where a backend ends before it serves, sheaf demo says so and leaves no other backend behind', async () => {
  // The third one never comes to serve: its program waits before it begins.
  const wait = "if (process.argv.includes('backend3')) await new Promise((resolve) => setTimeout(resolve, 3_600_000));";
  vi.stubEnv('NODE_OPTIONS', `--import=data:text/javascript,${encodeURIComponent(wait)}`);
  onTestFinished(() => void vi.unstubAllEnvs());
  const { child, exit, err } = start(
    ['demo', '--site', 'multi-end', '--port', '0', '--http-port', '0'],
    await temporaryDirectory(),
  );
  // The first backend serves before the others start.
  await vi.waitFor(() => expect(children(child.pid!)).toHaveLength(3), { timeout: 150_000, interval: 50 });
  const backends = children(child.pid!);
  process.kill(backends[2]!, 'SIGKILL');
  expect(await exit).not.toBe(0);
  expect(err()).toContain('backend3 ended before it served');
  expect(backends.filter(alive)).toEqual([]);
});

it('sheaf demo has no report of the site `multi-end`', async () => {
  const { code, err } = await sheaf(['demo', '--site', 'multi-end', '--once']);
  expect([code, err]).toEqual([2, expect.stringContaining('--once goes with the sites `page` and `live`')]);
});
