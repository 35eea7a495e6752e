import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { ProcessorQuota } from '../../src/process/processor_quota.js';

const roots: string[] = [];
afterEach(() => roots.splice(0).forEach((root) => rmSync(root, { recursive: true })));

/** Makes files as the kernel shows them. */
function hierarchy(files: Record<string, string>): string {
  const root = mkdtempSync(join(tmpdir(), 'sheaf-groups-'));
  roots.push(root);
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(join(root, file, '..'), { recursive: true });
    writeFileSync(join(root, file), text);
  }
  return root;
}

/** Returns what was written into the new group below a directory. */
function groupIn(directory: string): Record<string, string> {
  const group = readdirSync(directory).find((name) => name.startsWith('sheaf-bench-')) ?? '';
  const files = readdirSync(join(directory, group));
  return Object.fromEntries(files.map((file) => [file, readFileSync(join(directory, group, file), 'utf8')]));
}

test('a group of version 2 permits a share of a short period', () => {
  const root = hierarchy({ 'cgroup.controllers': 'cpuset cpu io\n' });
  expect(ProcessorQuota.create(0.2, root)).toBeInstanceOf(ProcessorQuota);
  expect(groupIn(root)).toEqual({ 'cpu.max': '2000 10000' });
});

test('a group of version 1 does too, with a longer period where the quota would be too short for the kernel', () => {
  const root = hierarchy({ 'unified/cgroup.controllers': 'hugetlb\n', 'cpu/cpu.cfs_quota_us': '-1\n' });
  expect(ProcessorQuota.create(0.05, root)).toBeInstanceOf(ProcessorQuota);
  expect(groupIn(join(root, 'cpu'))).toEqual({ 'cpu.cfs_period_us': '20000', 'cpu.cfs_quota_us': '1000' });
});

test('a host without such groups says so', () => {
  expect(ProcessorQuota.whyNot(hierarchy({ 'cgroup.controllers': 'memory\n' }))).toContain('limits processor time');
});

const refused = ProcessorQuota.whyNot();
test.skipIf(refused !== undefined)(
  `a process enters a group and leaves it${refused ? `: ${refused}` : ''}`,
  async () => {
    const child = spawn('sleep', ['60']);
    await once(child, 'spawn');
    const groups = (): string => readFileSync(`/proc/${child.pid}/cgroup`, 'utf8');
    const before = groups();
    const quota = ProcessorQuota.create(0.5);
    if ('reason' in quota) throw new Error(quota.reason);
    quota.limit(child.pid ?? 0);
    expect(groups()).toContain(`/sheaf-bench-${process.pid}`);
    quota.close();
    expect(groups()).toBe(before);
    child.kill();
  },
);
