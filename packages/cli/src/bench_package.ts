import { errorMessage, UserError } from '@sheaf/gateway';

/** The experiments. Loaded on demand: gateways run without them. @throws UserError */
export async function loadBench(): Promise<typeof import('@sheaf/bench')> {
  return import('@sheaf/bench').catch((error: unknown) => {
    throw new UserError('BENCH_UNKNOWN', `the experiments cannot be loaded: ${errorMessage(error)}`, {
      hint: 'install @sheaf/bench, or run `npm run setup` in the repository',
      cause: error,
    });
  });
}
