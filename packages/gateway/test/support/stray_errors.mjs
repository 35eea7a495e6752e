// A program with a gateway in it that leaves errors behind which belong to no session. Prints what became of it as JSON.
import { setTimeout as sleep } from 'node:timers/promises';
import { closeNodes, loadConfiguration, startNodes } from '@sheaf/gateway';

const { nodes } = await loadConfiguration(process.argv[2]);
const running = await startNodes(nodes);
void Promise.reject(new Error('a rejection of nobody'));
setTimeout(() => {
  throw new Error('an exception of nobody');
}, 0);
await sleep(10);
const { address, port } = running[0].adminAddress;
const metrics = await (await fetch(`http://${address}:${port}/metrics`)).text();
const { state } = running[0].status();
await closeNodes(running, 0);
process.stdout.write(
  JSON.stringify({
    state,
    counted: metrics.split('\n').filter((line) => line.startsWith('sheaf_stray_errors_total')),
    listeners: process.listenerCount('uncaughtException'),
  }),
);
