import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { UserError } from '@sheaf/gateway';
import { connectHttp3 } from '@sheaf/native';
import { z } from 'zod';
import type { Experiment, Outcome } from '../experiment.js';
import { describeMachine } from '../measure/machine.js';
import { distribution, round } from '../measure/statistics.js';
import { firstOutput, stop } from '../process/service.js';
import { sendUpload } from './send_upload.js';

const optionsSchema = z.strictObject({
  runs: z.coerce.number().int().min(1).default(5),
  bytes: z.coerce.number().int().min(1_000_000).default(1_000_000_000),
});
type Options = z.output<typeof optionsSchema>;

/** The server's report about an upload */
const receivedSchema = z.object({
  bytes: z.number(),
  /** Reads by which its JavaScript received the bytes */
  pieces: z.number(),
  /** Calls between JavaScript and the transport, in both directions */
  calls: z.number(),
  cpu_seconds: z.number(),
});
export type Received = z.output<typeof receivedSchema>;

interface Upload extends Received {
  seconds: number;
}

/** Measures one client's uploads to a server in a process of its own, which only reads them. */
export const uploadBench: Experiment = {
  name: 'upload',
  options: Object.keys(optionsSchema.shape),
  async run(rawOptions, { progress }) {
    const options = optionsSchema.parse(rawOptions);
    const machine = describeMachine();
    const uploads = await measure(options, progress);
    return summarize(options, machine, uploads);
  },
};

async function measure({ runs, bytes }: Options, progress: (line: string) => void): Promise<Upload[]> {
  const directory = await mkdtemp(join(tmpdir(), 'sheaf-bench-upload-'));
  const server = spawn(process.execPath, [join(import.meta.dirname, 'upload_server.js'), directory], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    const port = Number(await firstOutput(server, 'the server'));
    const uploads: Upload[] = [];
    for (let run = 1; run <= runs; run += 1) {
      const upload = await uploadOnce(port, bytes);
      if (upload.bytes !== bytes)
        throw new UserError('BENCH_FAILED', `the server received ${upload.bytes} of ${bytes} bytes`);
      uploads.push(upload);
      progress(
        `run ${run} of ${runs}: ${round(gigabits(upload), 3)} Gbit/s, ${round(callsPerMegabyte(upload), 3)} calls per MB`,
      );
    }
    return uploads;
  } finally {
    await stop(server);
    await rm(directory, { recursive: true, force: true });
  }
}

/** Uploads on a connection of its own, since windows grow with time. */
async function uploadOnce(port: number, bytes: number): Promise<Upload> {
  const client = await connectHttp3({ host: '127.0.0.1', port, serverName: 'localhost', insecure: true });
  try {
    const started = performance.now();
    const answer = await sendUpload(client, bytes);
    return { ...receivedSchema.parse(JSON.parse(answer)), seconds: (performance.now() - started) / 1000 };
  } finally {
    await client.close();
  }
}

function gigabits({ bytes, seconds }: Upload): number {
  return (bytes * 8) / seconds / 1e9;
}
function callsPerMegabyte({ bytes, calls }: Upload): number {
  return calls / (bytes / 1e6);
}

function summarize(options: Options, machine: unknown, uploads: readonly Upload[]): Outcome {
  const measures = {
    upload_gbps: distribution(uploads.map(gigabits)),
    calls_per_mb: distribution(uploads.map(callsPerMegabyte)),
    bytes_per_buffer: distribution(uploads.map(({ bytes, pieces }) => bytes / pieces)),
    server_cpu_seconds_per_gb: distribution(uploads.map(({ cpu_seconds, bytes }) => cpu_seconds / (bytes / 1e9))),
  };
  const results = Object.fromEntries(
    Object.entries(measures).map(([name, { median, quartiles }]) => [
      name,
      { median: round(median), quartiles: quartiles.map((value) => round(value)) },
    ]),
  );
  return {
    report: { experiment: 'upload', machine, parameters: options, results } as Outcome['report'],
    tables: [
      {
        head: ['measure', 'median', 'quartiles', 'runs'],
        rows: Object.entries(results).map(([name, { median, quartiles }]) => [
          name,
          String(median),
          quartiles.join(' to '),
          String(uploads.length),
        ]),
        notes: [],
      },
    ],
  };
}
