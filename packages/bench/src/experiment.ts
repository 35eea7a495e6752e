/** What an experiment gets beside its options */
export interface ExperimentContext {
  /** Shows a line on standard error. */
  progress: (line: string) => void;
}

export interface ResultTable {
  head: string[];
  rows: string[][];
  /** Lines below the table */
  notes: string[];
}

export interface Outcome {
  report: { machine: unknown };
  tables: ResultTable[];
  /** Requirement that the experiment missed */
  failure?: string;
}

/** One experiment of `sheaf bench`. Its report is printed as JSON or as tables. */
export interface Experiment {
  name: string;
  /** Names of its options, beside `json` */
  options: readonly string[];
  /** Runs the experiment. @throws UserError, or ZodError for an invalid option */
  run(options: Record<string, unknown>, context: ExperimentContext): Promise<Outcome>;
}
