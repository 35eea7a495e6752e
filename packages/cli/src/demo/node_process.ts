import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { UserError } from '@sheaf/gateway';

const program = fileURLToPath(new URL('../../dist/demo/run_node.js', import.meta.url));

/** A process with one node of the demo */
export class NodeProcess {
  #child: ChildProcess | undefined;
  #ready = false;

  constructor(
    readonly name: string,
    /** Configuration file */
    private readonly file: string,
  ) {}

  get process(): 'running' | 'starting' | 'stopped' {
    if (this.#child === undefined) return 'stopped';
    return this.#ready ? 'running' : 'starting';
  }

  /** Id of its process; undefined while it has none */
  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** Starts the process, unless it runs already. Resolves once the node serves. @throws UserError */
  async start(): Promise<void> {
    if (this.#child) return;
    const child = fork(program, [this.file, this.name], {
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      execArgv: [],
    });
    this.#child = child;
    this.#ready = false;
    child.once('exit', () => {
      if (this.#child === child) this.#child = undefined;
    });
    const ended = once(child, 'exit').then(() => {
      throw new UserError('DEMO_UNAVAILABLE', `${this.name} ended before it served`, {
        hint: 'the lines above say why',
      });
    });
    await Promise.race([once(child, 'message'), ended]);
    this.#ready = this.#child === child;
  }

  /** Kills the process at once, without a clean close of its connections. Resolves once it is gone. */
  async kill(): Promise<void> {
    const child = this.#child;
    if (!child) return;
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  }
}
