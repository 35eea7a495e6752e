export type { Command } from './command.js';
export { experimentCommands, type BrowserDemoTarget, type ExperimentsPackage } from './experiments.js';
export { run } from './run.js';
export { printLine, processWorld, type World } from './world.js';
