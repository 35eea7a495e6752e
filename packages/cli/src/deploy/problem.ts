/** Something in a configuration that does not work where the node is deployed */
export interface Problem {
  message: string;
  hint: string;
  /** Place among the keys of the node */
  at: readonly PropertyKey[];
  /** Whether `at` begins at the top of the file */
  shared?: boolean;
}
