// Runs a group of two workers, of which the kernel chooses one by addresses, in a process of its own. Prints the port. For each line on
// standard input, prints what the workers have passed on, and the processor time so far.
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { Worker } from 'node:worker_threads';
import { loadDevCertificate } from '@sheaf/gateway';
import { openWorkerGroup } from '@sheaf/native';
import type { Counted } from './forwarding.js';
import type { ForwardingWorker } from './forwarding_worker.js';

const [directory] = process.argv.slice(2);
if (directory === undefined) throw new Error('usage: forwarding_server.js DIRECTORY');
const certificate = await loadDevCertificate(directory, ['localhost'], new Date());
const group = openWorkerGroup({
  workers: 2,
  addresses: [{ address: '127.0.0.1', port: 0 }],
  steering: 'addresses',
});
for (const index of [0, 1]) {
  const start: ForwardingWorker = { certificate, worker: { group: group.number, index } };
  const worker = new Worker(new URL('./forwarding_worker.js', import.meta.url), { workerData: start });
  await once(worker, 'message');
}
process.stdout.write(`${group.addresses[0]?.port}\n`);
createInterface({ input: process.stdin }).on('line', () => {
  const { user, system } = process.cpuUsage();
  const counts = group.counts();
  const counted: Counted = {
    passedOn: counts.reduce((sum, { passedOn }) => sum + passedOn, 0),
    lost: counts.reduce((sum, { lost }) => sum + lost, 0),
    cpuSeconds: (user + system) / 1e6,
  };
  process.stdout.write(`${JSON.stringify(counted)}\n`);
});
process.once('SIGTERM', () => process.exit(0));
