import { spawn, type ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import { UserError } from '@sheaf/gateway';
import { stop } from './service.js';

/** Lines of output that an error shows */
const SHOWN = 5;

/** A program that ends with this process, and prints to standard output or error */
export class Program {
  readonly #child: ChildProcess;
  readonly #lines: string[] = [];
  #ended = false;
  #wake = new Set<() => void>();

  /** @param place what starts a program elsewhere, such as on another host, and becomes it; default: here */
  constructor(
    private readonly words: readonly string[],
    place: { readonly enter: readonly string[] } = { enter: [] },
  ) {
    const [enter = '', ...rest] = [...place.enter, 'setpriv', '--pdeathsig', 'KILL', ...words];
    this.#child = spawn(enter, rest, { stdio: ['pipe', 'pipe', 'pipe'] });
    for (const output of [this.#child.stdout, this.#child.stderr])
      if (output)
        createInterface(output).on('line', (line) => {
          this.#lines.push(line);
          this.#changed();
        });
    for (const event of ['close', 'error']) this.#child.once(event, () => this.#end());
    this.#child.stdin?.on('error', () => undefined);
  }

  get pid(): number {
    return this.#child.pid ?? -1;
  }

  write(line: string): void {
    this.#child.stdin?.write(`${line}\n`);
  }

  /** Waits for a line, and returns it. @throws UserError when the program ends without it */
  async prints(pattern: RegExp): Promise<string> {
    for (;;) {
      const found = this.#lines.find((line) => pattern.test(line));
      if (found !== undefined) return found;
      if (this.#ended)
        throw new UserError('BENCH_FAILED', `${this.words[0]} ended early: ${this.#lines.slice(-SHOWN).join(' | ')}`, {
          hint: `try it alone: ${this.words.join(' ')}`,
        });
      await new Promise<void>((resolve) => this.#wake.add(resolve));
    }
  }

  stop(): Promise<void> {
    return this.#ended ? Promise.resolve() : stop(this.#child);
  }

  #end(): void {
    this.#ended = true;
    this.#changed();
  }

  #changed(): void {
    const waiting = [...this.#wake];
    this.#wake.clear();
    for (const wake of waiting) wake();
  }
}
