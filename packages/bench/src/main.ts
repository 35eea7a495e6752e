import { processWorld, run } from '@sheaf/cli';

/** `sheaf-bench NAME …` is `sheaf bench NAME …` with the experiments of this very package. */
const world = processWorld();
world.exit(await run({ ...world, args: ['bench', ...world.args], packagePlaces: [import.meta.url] }));
