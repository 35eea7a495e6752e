// What tests and checks came to: { passed, failures, skipped }

/** Adds up outcomes. Checks skip nothing, and leave `skipped` out. */
export const sumOutcomes = (outcomes) => ({
  passed: outcomes.reduce((sum, { passed }) => sum + passed, 0),
  failures: outcomes.flatMap(({ failures }) => failures),
  skipped: outcomes.flatMap(({ skipped = [] }) => skipped),
});
