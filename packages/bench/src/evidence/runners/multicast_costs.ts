import { z } from 'zod';
import { median } from '../../measure/statistics.js';
import { AUTHENTICATIONS, channel, goodput, measureCosts, nameOf, unicast } from '../../multicast/cases.js';
import type { MulticastCase } from '../../multicast/cases.js';
import { finishRounds, type RoundSample } from './rounds.js';
import { armsOf, parseSettings, runnerModule, settingProgramSources, type Runner } from './runner.js';

const natural = z.number().int().min(1);

const optionsSchema = z.strictObject({
  /** Bytes that a receiver gets in a repetition */
  bytes: natural,
  /** Repetitions whose median is a round's figure */
  repetitions: natural,
  receivers: z.array(natural.max(1000)).min(1),
  windows: z.array(natural.min(100)).min(1),
  /** One packet of so many is lost, where an arm has repairs */
  loss_distances: z.array(natural.min(2)).min(1),
  object_bytes: z.array(natural).min(1),
});
type Options = z.output<typeof optionsSchema>;

const settingsSchema = z.strictObject({
  /** `unicast-to-one` has one client, however many receivers the others have. */
  delivery: z.enum(['unicast', 'unicast-to-one', 'channel']),
  authentication: z.enum(AUTHENTICATIONS),
  /** Whether packets are lost and repaired. Without repairs none is lost. */
  repairs: z.boolean(),
});
type ArmSettings = z.output<typeof settingsSchema>;

interface Place {
  each: MulticastCase;
  at: RoundSample['at'];
}

/** Returns each place of the options, with what the arm does there: where nothing is lost, loss changes nothing. */
function placesOf(
  { delivery, authentication, repairs }: ArmSettings,
  { receivers, windows, loss_distances, object_bytes }: Options,
): Place[] {
  return receivers.flatMap((count) =>
    windows.flatMap((window) =>
      loss_distances.flatMap((distance) =>
        object_bytes.map((bytes): Place => {
          const loss_distance = repairs ? distance : 0;
          const each =
            delivery === 'channel'
              ? channel(authentication, count, { window, loss_distance, object_bytes: bytes })
              : unicast(delivery === 'unicast' ? count : 1);
          return { each, at: { receivers: count, window, loss_percent: 100 / distance, object_bytes: bytes } };
        }),
      ),
    ),
  );
}

/** Measures what channels cost their source and one receiver, in memory, next to unicast. All arms run in every round. */
export const multicastCosts: Runner = {
  name: 'multicast-costs',
  realTime: true,
  seeded: false,
  sources: [
    runnerModule('multicast_costs.ts'),
    ...settingProgramSources('multicast_bench'),
    'packages/native/bench/engine',
    'packages/native/bench/multicast',
  ],
  settings: (setup, arm) => parseSettings(setup, arm, { options: optionsSchema, settings: settingsSchema }),
  async run(setup, context) {
    const options = optionsSchema.parse(setup.options);
    const arms = armsOf(setup, settingsSchema);
    const places = arms.flatMap(({ arm, ...settings }) =>
      placesOf(settings, options).map((place) => ({ arm, ...place })),
    );
    const cases = [...new Map(places.map(({ each }) => [nameOf(each), each])).values()];
    const measured = await finishRounds(context, {}, async (inTurn, round) => {
      const costs = await measureCosts(
        inTurn(cases),
        { rounds: options.repetitions, bytes: options.bytes, seed: context.seed + round },
        context.progress,
      );
      return places.map(({ arm, at, each }): RoundSample => {
        const own = costs.filter((cost) => nameOf(cost) === nameOf(each));
        const middle = (side: keyof typeof goodput): number => median(own.map(goodput[side]));
        return {
          arm,
          at,
          values: {
            source_gbps: middle('source'),
            source_thread_gbps: middle('source_thread'),
            receiver_gbps: middle('receiver'),
            receiver_thread_gbps: middle('receiver_thread'),
          },
        };
      });
    });
    return { ...measured, skipped: [] };
  },
};
