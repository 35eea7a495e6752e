import { run } from './run.js';
import { processWorld } from './world.js';

const world = processWorld();
world.exit(await run(world));
