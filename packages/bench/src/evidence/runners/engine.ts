import { UserError } from '@sheaf/gateway';
import { z } from 'zod';
import { CHOSEN, compiledSettings, type CompiledSettings } from '../../engine/compiled_settings.js';
import type { Sample } from '../../engine/sample.js';
import {
  buildPeers,
  buildSheaf,
  runSubject,
  wordsOf,
  type Subject,
  type TransferOptions,
} from '../../engine/subjects.js';
import { finishRounds, type RoundSample } from './rounds.js';
import { armsOf, prefixed, programSources, parseSettings, runnerModule, type Runner } from './runner.js';

const optionsSchema = z.strictObject({
  /** Bytes that each receiver gets */
  bytes: z.number().int().min(1_000_000),
  /** Numbers of receivers */
  receivers: z.array(z.number().int().min(1).max(100)).min(1),
  /** These are compiled into the programs. */
  packet_bytes: z.number(),
  batch_packets: z.number(),
  packets_per_ack: z.number(),
  /** The only one that programs take, where their library does not choose */
  cipher: z.string(),
});

const settingsSchema = z.strictObject({
  library: z.enum(['sheaf', 'ngtcp2', 'quiche', 'quinn-proto']),
  /** What encrypts; the libraries of others have one each */
  cryptography: z.enum(['ipsec-mb', 'gnutls', 'boringssl', 'aws-lc-rs']),
  /** Whether datagrams go through the library's endpoint, which finds their connection */
  endpoint: z.boolean(),
});

type Options = z.output<typeof optionsSchema>;
type ArmSettings = z.output<typeof settingsSchema>;

const transferOf = ({ library, cryptography, endpoint }: ArmSettings, receivers: number): TransferOptions => ({
  receivers,
  // The programs of other libraries have no choice.
  ...(library === 'sheaf' && { endpoint, provider: cryptography === 'gnutls' ? 'gnutls' : 'ipsec-mb' }),
});

/** What programs have compiled in. The set-up only says it. @throws UserError when it says something else */
function compiledFor({ library, endpoint, ...options }: Options & ArmSettings): CompiledSettings {
  const compiled = compiledSettings(library === 'sheaf' && endpoint ? 'sheaf-endpoint' : library);
  for (const name of ['packet_bytes', 'batch_packets', 'packets_per_ack', 'cipher'] as const) {
    if (compiled[name] === options[name] || compiled[name] === CHOSEN) continue;
    throw new UserError('BENCH_FAILED', `${library} has ${name} ${compiled[name]} instead of ${options[name]}`);
  }
  return compiled;
}

const valuesOf = (sample: Sample, receivers: number): RoundSample['values'] => {
  const { bytes, packets, generation_ns, processing_ns, server_ack_ns, client_ack_ns } = sample;
  return {
    generation_gbps: (bytes * 8) / generation_ns,
    // The time of all receivers was counted, and each has a machine of its own.
    processing_gbps: (bytes * 8 * receivers) / processing_ns,
    server_packet_ns: (generation_ns + server_ack_ns) / packets,
    client_packet_ns: (processing_ns + client_ack_ns) / packets,
  };
};

/** Measures the transport alone, in memory, beside other libraries. They take turns, one transfer each. */
export const engine: Runner = {
  name: 'engine',
  realTime: true,
  seeded: false,
  sources: [
    runnerModule('engine.ts'),
    ...programSources,
    'packages/native/bench/engine_bench.cc',
    'packages/native/bench/engine',
    'packages/native/fuzz/certificate.h',
    'packages/bench/peers',
  ],
  settings(setup, arm) {
    const settings = parseSettings(setup, arm, { options: optionsSchema, settings: settingsSchema });
    const words = settings.receivers.map((count) => wordsOf({ runs: 1, ...settings }, transferOf(settings, count)));
    return {
      ...settings,
      'command.task': words.map(({ task }) => task),
      'command.own': words.map(({ own }) => own),
      ...prefixed('compiled', compiledFor(settings)),
    };
  },
  async run(setup, context) {
    const { bytes, receivers } = optionsSchema.parse(setup.options);
    const arms = armsOf(setup, settingsSchema);
    const { subjects: peers, skipped } = await buildPeers(context.progress);
    const subjects = [await buildSheaf(context.progress), ...peers];
    const versions = await versionsOf(subjects);
    const measured = await finishRounds(context, versions, async (inTurn) => {
      const samples: RoundSample[] = [];
      for (const count of receivers) {
        for (const { arm, ...settings } of inTurn(arms)) {
          const subject = subjects.find(({ library }) => library === settings.library);
          if (!subject) continue;
          const { samples: transfers } = await runSubject(subject, { runs: 1, bytes }, transferOf(settings, count));
          for (const sample of transfers)
            samples.push({ arm, at: { receivers: count }, values: valuesOf(sample, count) });
        }
      }
      return samples;
    });
    return { ...measured, skipped: skipped.map(({ library, reason }) => `${library}: ${reason}`) };
  },
};

/** Asks the programs for the versions of their libraries, with a short transfer each. */
async function versionsOf(subjects: readonly Subject[]): Promise<Record<string, string>> {
  const versions: Record<string, string> = {};
  for (const subject of subjects)
    versions[subject.library] = (await runSubject(subject, { runs: 1, bytes: 1_000_000 })).version;
  return versions;
}
