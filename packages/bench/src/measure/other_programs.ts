import { readFileSync } from 'node:fs';

/** Ticks of a second in the files of proc; every Linux has this value */
const ticksPerSecond = 100;

/**
 * Watches how busy other programs keep the machine. The returned function tells the number of processors that they used
 * on average since then: 0.1 is a tenth of one. It counts as own what this process, and the programs that it started and
 * that have ended, used; so ask when all of them have. Undefined where Linux does not tell.
 */
export function watchOthers(
  read: (file: string) => string = readText,
  now: () => number = () => performance.now(),
): () => number | undefined {
  const before = usage(read);
  const started = now();
  return () => {
    const after = usage(read);
    if (!before || !after) return undefined;
    const seconds = (now() - started) / 1000;
    const ticks = after.machine - before.machine - (after.own - before.own);
    return Math.round((100 * Math.max(0, ticks)) / ticksPerSecond / seconds) / 100;
  };
}

interface Usage {
  /** Ticks of all processors, those included that a host took away */
  machine: number;
  own: number;
}

function usage(read: (file: string) => string): Usage | undefined {
  try {
    const [user = 0, nice = 0, system = 0, , , interrupts = 0, softInterrupts = 0, stolen = 0] = numbersOf(
      read('/proc/stat').split('\n', 1)[0]?.replace('cpu', '') ?? '',
    );
    const stat = read('/proc/self/stat');
    // The fields behind the name of the program, which may contain spaces: own times, and those of ended children
    const own = numbersOf(stat.slice(stat.lastIndexOf(')') + 2)).slice(11, 15);
    return {
      machine: user + nice + system + interrupts + softInterrupts + stolen,
      own: own.reduce((sum, value) => sum + value, 0),
    };
  } catch {
    return undefined;
  }
}

const numbersOf = (line: string): number[] => line.trim().split(/\s+/).map(Number);

const readText = (file: string): string => readFileSync(file, 'utf8');
