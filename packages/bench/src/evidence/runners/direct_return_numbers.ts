import { join } from 'node:path';
import { z } from 'zod';
import { numbersRunSchema, type NumbersRun } from '../../direct_return/simulation/runs.js';
import { describeReturnSetting } from '../../direct_return/simulation/setting.js';
import { buildNativeBench } from '../../process/cmake.js';
import { parseJsonLines } from '../../process/json_lines.js';
import { runProgram } from '../../process/run_program.js';
import { cellsAt } from './cells.js';
import { finishParts } from './parts.js';
import { armsOf, parseSettings, runnerModule, settingProgramSources, type Runner } from './runner.js';

const milliseconds = z.number().min(0);

const optionsSchema = z.strictObject({
  /** As direct_return_bench names them */
  clients: z.array(z.string().regex(/^(?:chromium|neqo(?:-\d+)?|window128|ngtcp2|sheaf)$/)).min(1),
  backends: z.array(z.number().int().min(1).max(8)).min(1),
  /** Differences of the ways of the nearest and the farthest backend */
  spreads_ms: z.array(milliseconds).min(1),
  mbps: z.array(z.number().positive()).min(1),
  /** One way between the client and the nearest backend */
  delay_ms: milliseconds,
  jitter_ms: milliseconds,
  /** Packets that ranges and runs have in all, and bytes that a connection downloads */
  packets: z.number().int().positive(),
  bytes: z.number().int().positive(),
});
type Options = z.output<typeof optionsSchema>;

const settingsSchema = z.strictObject({
  /**
   * Origin of numbers: backends have ranges of their own, or the gateway makes runs, both without contents; or the whole
   * engine sends real packets, and decides by itself how long runs are and for how long acknowledgements are held
   */
  sending: z.enum(['ranges', 'runs', 'connection']),
  /** Numbers in a range or run */
  length: z.number().int().positive().default(32),
  /** Whether runs of near backends wait for those of farther ones */
  waits: z.boolean().default(true),
  /** Time for which the gateway keeps back an acknowledgement of a packet with an ACK */
  hold_ms: milliseconds.default(0),
  /** One way between the gateway and backends */
  order_ms: milliseconds.default(0.1),
});
type Settings = z.output<typeof settingsSchema>;

interface Place {
  client: string;
  backends: number;
  spread_ms: number;
  mbps: number;
}

/** More than any run has in flight */
const QUEUE_BYTES = 67_108_864;

const quantities: Readonly<Record<string, (run: NumbersRun) => number>> = {
  refused_share: ({ packets, refused }) => refused / packets,
  acks_per_packet: ({ packets, acknowledgements }) => acknowledgements / packets,
  ranges: ({ most_ranges }) => most_ranges,
  closed: ({ closed, finished }) => (closed || !finished ? 1 : 0),
};
/** What only a connection with contents has */
const further = (bytes: number): Readonly<Record<string, (run: NumbersRun) => number>> => ({
  repeated_share: ({ repeated_bytes }) => repeated_bytes / bytes,
  goodput_mbps: ({ ms }) => (bytes * 8) / 1000 / ms,
});

/** Shows how clients treat the packet numbers of several senders, in virtual time. */
export const directReturnNumbers: Runner = {
  name: 'direct-return-numbers',
  realTime: false,
  seeded: true,
  sources: [runnerModule('direct_return_numbers.ts'), ...settingProgramSources('direct_return_bench')],
  settings: (setup, arm) => parseSettings(setup, arm, { options: optionsSchema, settings: settingsSchema }),
  async run(setup, context) {
    const options = optionsSchema.parse(setup.options);
    const program = await buildNativeBench('direct_return_bench', context.progress);
    const parts = armsOf(setup, settingsSchema).flatMap((settings) =>
      placesOf(options).map((at) => ({
        name: [settings.arm, at.client, at.backends, at.spread_ms, at.mbps].join('/'),
        at,
        ...settings,
      })),
    );
    const finished = await finishParts(
      parts,
      { file: join(context.directory, 'numbers.jsonl'), schema: numbersRunSchema, ...context },
      async ({ at, ...settings }) => {
        const words = ['numbers', settings.sending, at.client, String(context.seed), String(context.runs)];
        const input = describe(options, settings, at);
        return parseJsonLines(await runProgram(program, words, { input }), numbersRunSchema);
      },
    );
    return {
      cells: finished.flatMap(({ part: { arm, at, sending }, runs }) =>
        cellsAt({ arm, at: { ...at } }, runs, {
          ...quantities,
          ...(sending === 'connection' && further(options.bytes)),
        }),
      ),
      versions: {},
      skipped: [],
    };
  },
};

const placesOf = ({ clients, backends, spreads_ms, mbps }: Options): Place[] =>
  clients.flatMap((client) =>
    backends.flatMap((count) =>
      spreads_ms.flatMap((spread_ms) => mbps.map((rate) => ({ client, backends: count, spread_ms, mbps: rate }))),
    ),
  );

function describe(
  { delay_ms, jitter_ms, packets, bytes }: Options,
  { length, waits, hold_ms, order_ms }: Settings,
  { backends, spread_ms, mbps }: Place,
): string {
  return describeReturnSetting(
    {
      access: { mbps, delay_ms, queue_bytes: QUEUE_BYTES, jitter_ms },
      gateway_ms: order_ms,
      backends: Array.from({ length: backends }, (_, index) => ({
        order_ms,
        way_ms: order_ms + (backends === 1 ? 0 : (spread_ms * index) / (backends - 1)),
      })),
    },
    [`packets ${packets} ${length}`, `waits ${waits ? 1 : 0}`, `hold ${hold_ms}`, `download ${bytes}`],
  );
}
