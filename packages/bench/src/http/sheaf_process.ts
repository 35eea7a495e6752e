// Runs nodes in a process of their own, since the benchmark's client must not share their event loop. Like `sheaf up` it holds V8's
// heap first, since loading the rest would already make the young generation grow.
import '@sheaf/gateway/heap';
import { closeNodes, loadConfiguration, startNodes } from '@sheaf/gateway';

const [file, name] = process.argv.slice(2);
if (file === undefined) throw new Error('usage: sheaf_process.js CONFIGURATION [NODE]');
const { nodes } = await loadConfiguration(file);
const running = await startNodes(nodes.filter((node) => name === undefined || node.name === name));
process.stdout.write('ready\n');
process.once('SIGTERM', () => void closeNodes(running).then(() => process.exit(0)));
