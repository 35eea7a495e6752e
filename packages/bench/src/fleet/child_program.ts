import { Program } from '../process/program.js';

/** A program that is killed and started again */
export class ChildProgram {
  #running: Program | undefined;

  /** @param words the program and its arguments */
  constructor(
    readonly name: string,
    private readonly words: readonly string[],
  ) {}

  /** Whether it was started, and not killed since */
  get runs(): boolean {
    return this.#running !== undefined;
  }

  start(): void {
    this.#running = new Program(this.words);
  }

  /** Waits for a line of output since the latest start. @throws UserError when the program ends without it */
  async prints(pattern: RegExp): Promise<void> {
    await this.#running?.prints(pattern);
  }

  /** Ends the program at once, as a fault would. */
  async kill(): Promise<void> {
    const program = this.#running;
    this.#running = undefined;
    if (!program) return;
    signal(program, 'SIGCONT');
    signal(program, 'SIGKILL');
    await program.stop();
  }

  /** Makes the program silent, as if its network were cut. */
  pause(): void {
    if (this.#running) signal(this.#running, 'SIGSTOP');
  }

  resume(): void {
    if (this.#running) signal(this.#running, 'SIGCONT');
  }
}

function signal({ pid }: Program, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    // It has ended by itself.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
