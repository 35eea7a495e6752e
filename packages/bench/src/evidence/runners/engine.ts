import { z } from 'zod';
import type { Sample } from '../../engine/sample.js';
import { buildPeers, buildSheaf, runSubject } from '../../engine/subjects.js';
import { cellsAt } from './cells.js';
import { parseSettings, runnerSources, type Runner } from './runner.js';

const optionsSchema = z.strictObject({
  /** Bytes of one transfer */
  bytes: z.number().int().min(1_000_000),
  packet_bytes: z.literal(1350),
  batch_packets: z.literal(32),
  packets_per_ack: z.literal(2),
  cipher: z.literal('AES-128-GCM'),
});

const settingsSchema = z.strictObject({ library: z.enum(['sheaf', 'ngtcp2', 'quiche', 'quinn-proto']) });

const quantities: Readonly<Record<string, (sample: Sample) => number>> = {
  generation_gbps: ({ bytes, generation_ns }) => (bytes * 8) / generation_ns,
  processing_gbps: ({ bytes, processing_ns }) => (bytes * 8) / processing_ns,
  server_packet_ns: ({ packets, generation_ns, server_ack_ns }) => (generation_ns + server_ack_ns) / packets,
  client_packet_ns: ({ packets, processing_ns, client_ack_ns }) => (processing_ns + client_ack_ns) / packets,
};

/** Measures the transport alone, in memory, beside other libraries. They take turns, one transfer each. */
export const engine: Runner = {
  name: 'engine',
  realTime: true,
  sources: [
    ...runnerSources('engine.ts'),
    'packages/native/src',
    'packages/native/bench/engine_bench.cc',
    'packages/bench/peers',
    'packages/bench/src/engine',
  ],
  settings: (setup, arm) => parseSettings(setup, arm, { options: optionsSchema, settings: settingsSchema }),
  async run(setup, { runs, progress, stop }) {
    const { bytes } = optionsSchema.parse(setup.options);
    const libraries = Object.entries(setup.arms).map(([arm, { settings }]) => ({
      arm,
      library: settingsSchema.parse(settings).library,
    }));
    const { subjects: peers, skipped } = await buildPeers(progress);
    const subjects = [await buildSheaf(progress), ...peers];
    const versions: Record<string, string> = {};
    const samples = new Map<string, Sample[]>();
    for (let run = 0; run < runs && !stop.aborted; run += 1) {
      progress(`run ${run + 1} of ${runs}`);
      for (const { arm, library } of libraries) {
        const subject = subjects.find((candidate) => candidate.library === library);
        if (!subject) continue;
        const output = await runSubject(subject, 1, bytes);
        versions[library] = output.version;
        samples.set(arm, [...(samples.get(arm) ?? []), ...output.samples]);
      }
    }
    return {
      cells: [...samples].flatMap(([arm, values]) => cellsAt({ arm, at: {} }, values, quantities)),
      versions,
      skipped: skipped.map(({ library, reason }) => `${library}: ${reason}`),
    };
  },
};
