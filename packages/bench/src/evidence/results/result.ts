import { z } from 'zod';

const axes = z.record(z.string(), z.union([z.string(), z.number()]));

/** All runs of one arm at one place of the axes. Run `i` of every arm has the same seed. */
export const resultCellSchema = z.object({
  arm: z.string(),
  at: axes,
  quantity: z.string(),
  values: z.array(z.number()),
});
export type ResultCell = z.output<typeof resultCellSchema>;

const spread = z.object({ median: z.number(), largest: z.number() });

/** How busy the machine was before the rounds of a measurement */
const beforeRoundsSchema = z.object({
  /** Load average of the last minute, to which the round before contributes */
  load: spread,
  /** Processors that other programs used */
  busy: spread,
});
export type BeforeRounds = z.output<typeof beforeRoundsSchema>;

export const resultSchema = z.object({
  artefact: z.string(),
  /** SHA-256 of the measured sources */
  program: z.string(),
  /** SHA-256 of the artefact's set-up, and of whether the run was quick */
  settings: z.string(),
  quick: z.boolean(),
  runs: z.number().int(),
  /** Seed of the first run, if runs draw from seeds */
  seed: z.number().int().optional(),
  commit: z.string(),
  machine: z.object({
    processor: z.string(),
    cores: z.number(),
    memory_gib: z.number(),
    kernel: z.string(),
    node: z.string(),
    load: z.number(),
  }),
  /** Processors that other programs used on average during the measurement, where that is known and matters */
  other_processors: z.number().optional(),
  before_rounds: beforeRoundsSchema.optional(),
  /** ISO 8601 */
  finished: z.string(),
  seconds: z.number(),
  /** Versions of the compared programs */
  versions: z.record(z.string(), z.string()),
  /** What was not measured, with the reasons */
  skipped: z.array(z.string()),
  cells: z.array(resultCellSchema),
});
export type Result = z.output<typeof resultSchema>;
