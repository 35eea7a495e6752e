/** Runs one node of a file until the demo that started this process ends: `run_node.js FILE NAME`. */
import { loadConfiguration, startNodes } from '@sheaf/gateway';

const [file = '', name = ''] = process.argv.slice(2);

// The demo decides when its nodes end, even after Ctrl-C, which reaches all processes of a terminal.
process.on('SIGINT', () => undefined);
process.once('disconnect', () => process.exit());
const { nodes } = await loadConfiguration(file);
await startNodes(nodes.filter((node) => node.name === name));
process.send?.('ready');
