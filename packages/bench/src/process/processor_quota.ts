import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { errorMessage, UserError } from '@sheaf/gateway';

/**
 * Period of a quota in microseconds. A process that has used its quota stands still until the next period. So the period
 * is short; the kernel looks at every tick (4 ms with CONFIG_HZ=250), and a longer turn costs later periods.
 */
const PERIOD_US = 10_000;
/** Least quota that the kernel takes, in microseconds */
const LEAST_US = 1_000;

/**
 * Limits the processor time of one process at a time, by a control group of its own. A process that has more to do than
 * its quota permits is saturated, however many processors the machine has and whatever else runs on them.
 */
export class ProcessorQuota {
  readonly #group: string;
  #limited: { pid: number; home: string } | undefined;

  private constructor(
    private readonly hierarchy: Hierarchy,
    /** Share of one processor, above 0 and up to 1 */
    readonly share: number,
  ) {
    this.#group = join(hierarchy.directory, `sheaf-bench-${process.pid}`);
    mkdirSync(this.#group, { recursive: true });
    const period = Math.max(PERIOD_US, Math.ceil(LEAST_US / share));
    for (const [file, text] of hierarchy.settings(Math.round(period * share), period))
      writeFileSync(join(this.#group, file), text);
  }

  /** Makes the group. Returns the reason where this host or its rights do not permit it. */
  static create(share: number, root = '/sys/fs/cgroup'): ProcessorQuota | { reason: string } {
    const hierarchy = hierarchies(root).find(({ controls }) => controls());
    if (!hierarchy) return { reason: `no control group below ${root} limits processor time` };
    try {
      return new ProcessorQuota(hierarchy, share);
    } catch (error) {
      return { reason: `a control group for processor time cannot be made (${errorMessage(error)})` };
    }
  }

  /** Returns why this host or its rights permit no group; undefined where they do. */
  static whyNot(root?: string): string | undefined {
    const quota = ProcessorQuota.create(1, root);
    if ('reason' in quota) return quota.reason;
    quota.close();
    return undefined;
  }

  /** Limits a process, with all of its threads, until `lift`. */
  limit(pid: number): void {
    this.lift();
    const home = this.hierarchy.groupOf(readFileSync(`/proc/${pid}/cgroup`, 'utf8'));
    writeFileSync(join(this.#group, 'cgroup.procs'), String(pid));
    this.#limited = { pid, home };
  }

  lift(): void {
    const limited = this.#limited;
    this.#limited = undefined;
    // A process that has ended is in no group.
    if (limited && existsSync(`/proc/${limited.pid}`))
      writeFileSync(join(this.hierarchy.directory, limited.home, 'cgroup.procs'), String(limited.pid));
  }

  /** Removes the group. */
  close(): void {
    this.lift();
    rmdirSync(this.#group);
  }
}

/** Works while a process has so much of one processor at most; 1: it is not limited. @throws UserError */
export async function underQuota<Result>(share: number, pid: number, work: () => Promise<Result>): Promise<Result> {
  const quota = share < 1 ? ProcessorQuota.create(share) : undefined;
  if (quota && 'reason' in quota) throw new UserError('BENCH_UNAVAILABLE', quota.reason);
  try {
    quota?.limit(pid);
    return await work();
  } finally {
    quota?.close();
  }
}

/** Leaves out the quotas that this host does not permit. If none is left, the balancer is not limited. */
export function permittedQuotas(quotas: readonly number[]): {
  permitted: number[];
  refused: { what: string; reason: string }[];
} {
  const reason = quotas.some((quota) => quota < 1) ? ProcessorQuota.whyNot() : undefined;
  if (reason === undefined) return { permitted: [...quotas], refused: [] };
  const refused = quotas.filter((quota) => quota < 1).map((quota) => ({ what: `a quota of ${quota}`, reason }));
  return { permitted: [1], refused };
}

/** Where groups that limit processor time are (cgroups(7)) */
interface Hierarchy {
  directory: string;
  controls(): boolean;
  /** Returns the files of a group, and what is written into them. Times are in microseconds. */
  settings(quota: number, period: number): [file: string, text: string][];
  /** Returns the group of a process from its file `cgroup` (proc(5)). */
  groupOf(text: string): string;
}

const hierarchies = (root: string): Hierarchy[] => [
  {
    directory: root,
    controls: () => wordsOf(join(root, 'cgroup.controllers')).includes('cpu'),
    settings: (quota, period) => [['cpu.max', `${quota} ${period}`]],
    groupOf: (text) => /^0::(.*)$/m.exec(text)?.[1] ?? '/',
  },
  {
    directory: join(root, 'cpu'),
    controls: () => existsSync(join(root, 'cpu', 'cpu.cfs_quota_us')),
    settings: (quota, period) => [
      ['cpu.cfs_period_us', String(period)],
      ['cpu.cfs_quota_us', String(quota)],
    ],
    groupOf: (text) => /^\d+:(?:[^:]*,)?cpu(?:,[^:]*)?:(.*)$/m.exec(text)?.[1] ?? '/',
  },
];

const wordsOf = (file: string): string[] => (existsSync(file) ? readFileSync(file, 'utf8').trim().split(/\s+/) : []);
