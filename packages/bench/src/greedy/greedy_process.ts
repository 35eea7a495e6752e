// Runs greedy clients in a process of their own, since another client, whose times are measured, must not share their
// event loop.
import { startGreedyClient, type Behaviour, type GreedyClient, type Protocol } from './greedy_clients.js';

const [protocol, behaviour, ...numbers] = process.argv.slice(2) as [Protocol, Behaviour, ...string[]];
const [port = 0, requests = 0, count = 0] = numbers.map(Number);
const clients: GreedyClient[] = [];
process.once(
  'SIGTERM',
  () => void Promise.allSettled(clients.map((client) => client.close())).then(() => process.exit()),
);
for (let i = 0; i < count; i++) clients.push(await startGreedyClient(protocol, behaviour, port, requests));
process.stdout.write(`${clients.at(-1)?.connections ?? 0}\n`);
