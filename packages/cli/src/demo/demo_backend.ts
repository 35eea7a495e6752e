import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { UserError } from '@sheaf/gateway';

const program = fileURLToPath(new URL('../../dist/demo/backend_process.js', import.meta.url));

/** The process of one backend of the demo. */
export class DemoBackend {
  #child: ChildProcess | undefined;
  #ready = false;

  constructor(
    readonly name: string,
    /** Configuration file. */
    private readonly file: string,
  ) {}

  get process(): 'running' | 'starting' | 'stopped' {
    if (this.#child === undefined) return 'stopped';
    return this.#ready ? 'running' : 'starting';
  }

  /** Of its process; undefined while there is none. */
  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** Resolves once it serves; does nothing while there is a process. @throws UserError */
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

  /** Ends the process at once, without a word to anybody. Resolves once it is gone. */
  async kill(): Promise<void> {
    const child = this.#child;
    if (!child) return;
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  }
}
