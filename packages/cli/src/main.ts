import { run } from './run.js';
import { processWorld } from './world.js';

const world = processWorld();
// `sheaf schema | head` closes the pipe early: that is no error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));
world.exit(await run(world));
