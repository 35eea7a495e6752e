import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { errorMessage, UserError } from '../errors/user_error.js';
import { RefusedElsewhere } from '../errors/refusal.js';
import { ControlChannel } from './control_channel.js';
import type { DescriptorTable } from './descriptor_table.js';
import { successorVariable } from './successor_variable.js';
import { controlDescriptor, readinessMessage, successMessage, type Hello, type Took } from './messages.js';

/** Time in milliseconds from the end of the channel to that of the process */
const exitGraceMs = 1_000;

/** How to start a process that takes over */
export interface SuccessorCommand {
  file: string;
  args: readonly string[];
  env: Readonly<Record<string, string | undefined>>;
}

export interface ReadySuccessor {
  pid: number;
  version: string;
  took: Took;
}

/** A process that takes over, from its start until it serves, as the process before sees it */
export class SuccessorProcess {
  readonly #child: ChildProcess;
  readonly channel: ControlChannel;
  /** Rejects with the reason when the process has ended. */
  readonly #failed: Promise<never>;

  private constructor(child: ChildProcess, channel: ControlChannel) {
    this.#child = child;
    this.channel = channel;
    this.#failed = once(child, 'exit').then((end) => {
      const [code, signal] = end as [number | null, NodeJS.Signals | null];
      throw refused(`the new process has ended (${signal ?? `exit code ${code}`})`);
    });
    this.#failed.catch(() => undefined);
  }

  /** Starts the process, with the descriptors of a table, and tells it what they are. @throws UserError */
  static async start(command: SuccessorCommand, hello: Hello, table: DescriptorTable): Promise<SuccessorProcess> {
    const { file, args, env } = command;
    const child = spawn(file, args, {
      // The watchdog of the service manager names a process that this one is not (sd_watchdog_enabled(3)).
      env: { ...env, [successorVariable]: '1', WATCHDOG_PID: undefined },
      stdio: ['inherit', 'inherit', 'inherit', 'pipe', ...table.all],
    });
    child.on('error', () => undefined).unref();
    await once(child, 'spawn').catch((error: unknown) => {
      throw refused(`the new process does not start (${errorMessage(error)})`);
    });
    const channel = new ControlChannel(child.stdio[controlDescriptor] as Socket);
    channel.send(hello);
    return new SuccessorProcess(child, channel);
  }

  /** Waits until it is ready to take over. @throws UserError when it does not get ready */
  async ready(timeoutMs: number): Promise<ReadySuccessor> {
    const answer = await this.#within(timeoutMs, this.channel.next(readinessMessage));
    if (answer.type === 'refused') throw new RefusedElsewhere(answer.refusal);
    return answer;
  }

  /** Makes it take over. Resolves once it serves. @throws UserError when it fails after all */
  async take(timeoutMs: number): Promise<void> {
    this.channel.send({ type: 'go' });
    const answer = await this.#within(timeoutMs, this.channel.next(successMessage));
    if (answer.type === 'refused') throw new RefusedElsewhere(answer.refusal);
  }

  /** Ends it at once. */
  kill(): void {
    this.#child.kill('SIGKILL');
    this.channel.close();
  }

  async #within<Value>(timeoutMs: number, answer: Promise<Value>): Promise<Value> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(refused(`the new process is not ready after ${timeoutMs / 1_000} s`)), timeoutMs);
    });
    // Its end explains more than the end of the channel.
    const read = answer.catch(async (error: unknown) => {
      await Promise.race([this.#failed, new Promise((resolve) => setTimeout(resolve, exitGraceMs))]);
      throw refused(`the new process is not understood: ${errorMessage(error)}`);
    });
    try {
      return await Promise.race([read, late]);
    } finally {
      clearTimeout(timer);
    }
  }
}

function refused(message: string): UserError {
  return new UserError('UPGRADE_REFUSED', message, { hint: 'its log says why; the old process goes on' });
}
