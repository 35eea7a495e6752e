import { z } from 'zod';

const text = z.string().min(1);
/** Coordinates of a measurement beside its arm, for example `{ page: google, level: low }` */
const axesSchema = z.record(z.string(), z.union([z.string(), z.number()]));
export type Axes = z.output<typeof axesSchema>;

const quantitySchema = z.strictObject({
  name: text,
  unit: text,
  better: z.enum(['lower', 'higher']),
  /** Statistic that makes one figure of the runs of a cell */
  statistic: z.enum(['mean', 'median', 'p95', 'p99', 'maximum', 'minimum']),
  /** Name of the runner's values, for several statistics of the same ones; default: the name of the quantity */
  values: text.optional(),
  /** Divisor of the values before they were stored; `none` for plain values */
  normalisation: text.default('none'),
});
export type Quantity = z.output<typeof quantitySchema>;

const publishedValueSchema = z.strictObject({ arm: text, quantity: text, at: axesSchema, value: z.number() });

/** Published values with their source. `none` prints "not published". */
const publishedSchema = z.discriminatedUnion('source', [
  z.strictObject({ source: z.literal('none') }),
  z.strictObject({
    source: z.enum(['raw data', 'text', 'chart']),
    /** Uncertainty of values that were read from a chart */
    uncertainty: text.optional(),
    statistic: text,
    /** Number of runs behind each value; `unknown` when the paper does not tell */
    n: z.union([z.number().int().positive(), z.literal('unknown')]),
    values: z.array(publishedValueSchema).min(1),
  }),
]);

/** Values of axes that select cells; an axis that is not named has any value */
const whereSchema = z
  .record(z.string(), z.union([z.string(), z.number(), z.array(z.union([z.string(), z.number()]))]))
  .default({});
export type Where = z.output<typeof whereSchema>;

const boundSchema = z.strictObject({ at_most: z.number().optional(), at_least: z.number().optional() });

/**
 * A condition on the results: a figure of one arm, or its ratio to that of another arm, lies within bounds. It must
 * hold in `every` cell that matches `where`, or for the geometric mean over them (`mean`).
 */
const predicateSchema = z
  .strictObject({
    quantity: text,
    /** An arm, or several of which each has to hold */
    of: z.union([text, z.array(text).min(1)]),
    to: text.optional(),
    /** Axes in which the other place of a ratio differs, for a ratio between places, for example `{ level: low }` */
    against: axesSchema.optional(),
    where: whereSchema,
    over: z.enum(['every', 'mean']).default('every'),
    ...boundSchema.shape,
    /** Distance beyond a bound that still counts as a tie, in the unit of the figure or of the ratio */
    margin: z.number().min(0).default(0),
  })
  .refine(({ at_most, at_least }) => at_most !== undefined || at_least !== undefined, {
    error: 'give at_most, at_least or both',
  });
export type Predicate = z.output<typeof predicateSchema>;

const claimSchema = z.strictObject({
  text,
  /** Finding of the paper */
  published: z.enum(['holds', 'does not hold', 'not said']),
  /** Why our figures cannot be compared with the published ones */
  not_comparable: text.optional(),
  predicates: z.array(predicateSchema),
});
export type Claim = z.output<typeof claimSchema>;

const armSchema = z.strictObject({
  label: text.optional(),
  settings: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])).default({}),
  /** Settings by which this arm may differ from the baseline. All others must be equal. */
  differs: z.array(text).default([]),
});
export type Arm = z.output<typeof armSchema>;

const setupSchema = z
  .strictObject({
    runner: text,
    network: text,
    /** Options of the runner that all arms share. The runner checks them. */
    options: z.record(z.string(), z.unknown()).default({}),
    runs: z.strictObject({ quick: z.number().int().min(1), full: z.number().int().min(1) }),
    /** First seeds: those of the runs behind the figures, and those of the runs that settings were chosen with */
    seeds: z.strictObject({ held_out: z.number().int().min(0), tuning: z.number().int().min(0).optional() }),
    baseline: text,
    arms: z.record(z.string(), armSchema),
  })
  .refine(({ baseline, arms }) => baseline in arms, { error: 'the baseline is none of the arms', path: ['baseline'] });
export type Setup = z.output<typeof setupSchema>;

const plotSchema = z.strictObject({
  /** Form of the marks. A `distribution` has a cumulative curve for each arm. */
  kind: z.enum(['bars', 'lines', 'distribution']),
  title: text,
  quantity: text,
  /** Arms in the plot, at most as many as there are distinguishable colors */
  arms: z.array(text).min(1).max(8),
  /** Axis whose values go across. Of a distribution it is the one of the shares in percent, which go up. */
  x: text,
  facet: text.optional(),
  row: text.optional(),
  /** Places in the plot; default: all */
  where: whereSchema,
  logarithmic: z.boolean().default(false),
});
export type Plot = z.output<typeof plotSchema>;

/** A table that documents take from the results, by name */
const documentTableSchema = z.strictObject({
  name: text,
  quantities: z.array(text).min(1),
  /** What each column is for: `arm`, `quantity`, or an axis. The rest makes the rows. */
  columns: text,
  /** Arms in the table; default: all */
  arms: z.array(text).min(1).optional(),
  where: whereSchema,
  /** Whether figures show their intervals, their ratio to the baseline, and the published values */
  interval: z.boolean().default(true),
  ratio: z.boolean().default(false),
  published: z.boolean().default(false),
});
export type DocumentTable = z.output<typeof documentTableSchema>;

const common = {
  title: text,
  paper: text,
  /** Name in the paper, for example "figure 6" */
  artefact: text,
  /** The paper's statement about it */
  shows: text,
};

/** A file of `packages/bench/evidence` */
export const artefactSchema = z.discriminatedUnion('state', [
  z.strictObject({ ...common, state: z.literal('not built'), waits_for: text }),
  z.strictObject({ ...common, state: z.literal('cannot be rerun'), why: text }),
  z.strictObject({
    ...common,
    state: z.enum(['reruns', 'reruns in part']),
    quantities: z.record(z.string(), quantitySchema),
    published: z.array(publishedSchema).min(1),
    setup: setupSchema,
    deviations: z.array(z.strictObject({ what: text, why: text, effect: text })).default([]),
    claims: z.array(claimSchema).min(1),
    plots: z.array(plotSchema).default([]),
    tables: z.array(documentTableSchema).default([]),
  }),
]);
export type ArtefactFile = z.output<typeof artefactSchema>;
export type Rerunnable = Extract<ArtefactFile, { setup: unknown }>;

/** A file with its name, such as `page-loads/figure-6` */
export type Artefact = ArtefactFile & { id: string };

export const isRerunnable = <File extends ArtefactFile>(file: File): file is Extract<File, { setup: unknown }> =>
  'setup' in file;
