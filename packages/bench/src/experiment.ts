/** What an experiment is given beside its options. */
export interface ExperimentContext {
  /** Shows a line on standard error. */
  progress: (line: string) => void;
}

export interface ResultTable {
  head: string[];
  rows: string[][];
  /** Lines below the table. */
  notes: string[];
}

export interface Outcome {
  report: { machine: unknown };
  tables: ResultTable[];
  /** What the experiment had to show and did not. */
  failure?: string;
}

/** One experiment of `sheaf bench`. Its report is printed as JSON or as tables. */
export interface Experiment {
  name: string;
  /** Names of the options that it takes beside `json`. */
  options: readonly string[];
  /** @throws UserError or ZodError (an option that is not understood) */
  run(options: Record<string, unknown>, context: ExperimentContext): Promise<Outcome>;
}
