import { processWorld, run } from '@sheaf/cli';

/** Runs `sheaf-bench NAME …` as `sheaf bench NAME …`, with the experiments of this very package. */
const world = processWorld();
world.exit(await run({ ...world, args: ['bench', ...world.args], packagePlaces: [import.meta.url] }));
