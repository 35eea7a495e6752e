import { refusalOf, type Refusal } from '../../errors/refusal.js';
import { errorMessage, UserError } from '../../errors/user_error.js';
import type { UpgradeOutcome, UpgradeSource, UpgradeStatus } from '../../observability/upgrade_report.js';
import { DescriptorTable } from '../../upgrade/descriptor_table.js';
import { drainMessage, mostPredecessors, protocolVersion, type Hello, type Took } from '../../upgrade/messages.js';
import type { Predecessors } from '../../upgrade/predecessors.js';
import { SuccessorProcess, type SuccessorCommand } from '../../upgrade/successor_process.js';
import { version } from '../../values/version.js';
import type { NodeLegacy, RunningNode } from '../life/running_node.js';
import { cannotTakeOver } from './unfit.js';

export interface UpgraderOptions {
  nodes(): readonly RunningNode[];
  /** Number of this process in the row of upgrades */
  generation: number;
  predecessors: Predecessors;
  /** Starts the process that takes over. */
  command: SuccessorCommand;
  /** Time in milliseconds for it to get ready */
  timeoutMs: number;
  /** Returns the time of day. */
  now: () => Date;
}

/** A node and what it leaves to the process that takes over */
interface Bequest {
  node: RunningNode;
  legacy: NodeLegacy;
}

/** Leaves the nodes of this process to another one, or keeps them when that fails. */
export class Upgrader implements UpgradeSource {
  readonly #options: UpgraderOptions;
  #running: Promise<UpgradeOutcome> | undefined;
  #refused: (Refusal & { at: string }) | undefined;
  #over = false;
  #leave!: () => void;
  /** Resolves when another process has taken over. */
  readonly left = new Promise<void>((resolve) => (this.#leave = resolve));
  /** Resolves when the process that took over wants this one to drain. */
  readonly drained: Promise<void>;
  #drain!: () => void;

  constructor(options: UpgraderOptions) {
    this.#options = options;
    this.drained = new Promise((resolve) => (this.#drain = resolve));
  }

  /** Whether another process takes over, or has done so */
  get busy(): boolean {
    return this.#over || this.#running !== undefined;
  }

  status(): UpgradeStatus {
    const { generation, predecessors } = this.#options;
    return { generation, predecessors: predecessors.count, ...(this.#refused && { refused: this.#refused }) };
  }

  /** Starts a process that takes over. All who ask meanwhile get the same answer. */
  upgrade(): Promise<UpgradeOutcome> {
    this.#running ??= this.#upgrade().finally(() => (this.#running = undefined));
    return this.#running;
  }

  async #upgrade(): Promise<UpgradeOutcome> {
    const table = new DescriptorTable();
    let bequests: Bequest[] = [];
    let successor: SuccessorProcess | undefined;
    try {
      this.#check();
      bequests = bequeathAll(this.#options.nodes(), table);
      const { command, timeoutMs } = this.#options;
      successor = await SuccessorProcess.start(command, this.#hello(bequests, table), table);
      const { took, pid, version: ofSuccessor } = await successor.ready(timeoutMs);
      const after = { pid, version: ofSuccessor };
      this.#over = true;
      leaveAll(bequests, took);
      bequests = [];
      // What libuv closes is closed at the end of a turn; the other process opens some of it anew.
      for (let turn = 0; turn < 2; turn++) await new Promise((resolve) => setImmediate(resolve));
      await successor.take(timeoutMs);
      this.#leave();
      successor.channel.unref();
      void successor.channel.next(drainMessage).then(this.#drain, () => undefined);
      for (const { log } of this.#options.nodes()) log.info({ after }, 'another process has taken over');
      return { accepted: true, before: { pid: process.pid, version }, after };
    } catch (error) {
      for (const { legacy } of bequests) legacy.abandon();
      if (this.#over) this.#leave();
      else successor?.kill();
      return this.#refuse(error);
    }
  }

  #check(): void {
    const { nodes, predecessors } = this.#options;
    if (this.#over) throw refused('another process has taken over already', 'ask that one');
    if (nodes().length === 0) throw refused('the node is starting', 'try again once it is ready');
    for (const node of nodes()) if (!node.bequeath) throw cannotTakeOver(node);
    if (predecessors.count >= mostPredecessors)
      throw refused(
        `${mostPredecessors} earlier processes still have connections`,
        'wait until some have ended, or lower `limits.upgrade`',
      );
  }

  #hello(bequests: readonly Bequest[], { share }: DescriptorTable): Hello {
    const { generation, predecessors } = this.#options;
    return {
      type: 'hello',
      protocol: protocolVersion,
      version,
      pid: process.pid,
      generation: generation + 1,
      predecessors: predecessors.describe(share),
      nodes: bequests.map(({ legacy }) => legacy.inheritance),
    };
  }

  #refuse(error: unknown): UpgradeOutcome {
    const refusal = refusalOf(error);
    this.#refused = { ...refusal, at: this.#options.now().toISOString() };
    const { code, message } = refusal;
    for (const { log } of this.#options.nodes())
      log.error({ code, error: message }, this.#over ? 'the new process has failed' : 'no other process takes over');
    return { accepted: false, refusal };
  }
}

function bequeathAll(nodes: readonly RunningNode[], { share }: DescriptorTable): Bequest[] {
  const bequests: Bequest[] = [];
  try {
    for (const node of nodes) bequests.push({ node, legacy: node.bequeath!(share) });
    return bequests;
  } catch (error) {
    for (const { legacy } of bequests) legacy.abandon();
    throw refused(`the sockets cannot be passed on (${errorMessage(error)})`, 'raise the number of open files');
  }
}

function leaveAll(bequests: readonly Bequest[], took: Took): void {
  for (const { node, legacy } of bequests)
    legacy.commit(took.filter((each) => each.node === node.name).map(({ use }) => use));
}

function refused(message: string, hint: string): UserError {
  return new UserError('UPGRADE_REFUSED', message, { hint });
}
