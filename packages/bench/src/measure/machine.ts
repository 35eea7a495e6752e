import { cpus, loadavg, release, totalmem } from 'node:os';

/** The machine that a result was measured on */
export interface Machine {
  processor: string;
  cores: number;
  memory_gib: number;
  kernel: string;
  node: string;
  /** Load average of the last minute before the experiment. Above 0.5 per core, the machine is not quiet. */
  load: number;
}

export function describeMachine(): Machine {
  const processors = cpus();
  return {
    processor: processors[0]?.model.trim() ?? 'unknown',
    cores: processors.length,
    memory_gib: Math.round(totalmem() / 2 ** 30),
    kernel: release(),
    node: process.version,
    load: Number((loadavg()[0] ?? 0).toFixed(2)),
  };
}

export function machineLine(machine: Machine): string {
  return `${machine.processor}, ${machine.cores} cores, ${machine.memory_gib} GiB, Linux ${machine.kernel}, Node ${machine.node}, load ${machine.load}`;
}
